//! The plot: for each contestant a bar of its pace and one of its CPU, as SVG.

use std::fmt::Write;

use super::super::contestant::{Instances, Who};
use super::Row;
use crate::sample::Spread;

// In pixels.
const LINE: f64 = 22.0;
const TOP: f64 = 40.0;
const NAMES: f64 = 250.0;
const PANEL: f64 = 290.0;
/// What is left free right of a bar, for its number.
const NUMBER: f64 = 60.0;
const WIDTH: f64 = NAMES + 2.0 * (PANEL + NUMBER) + 10.0;

/// One of the two halves.
struct Panel {
    title: &'static str,
    left: f64,
    number: fn(&Row) -> Spread,
}

const PANELS: [Panel; 2] = [
    Panel {
        title: "messages a second",
        left: NAMES,
        number: |row| row.pace,
    },
    Panel {
        title: "µs of CPU a message",
        left: NAMES + PANEL + NUMBER,
        number: |row| row.cpu,
    },
];

/// The picture.
pub(super) fn plot(rows: &[Row]) -> String {
    let mut svg = String::new();
    write_plot(&mut svg, rows).expect("a String takes whatever is written");
    svg
}

fn write_plot(svg: &mut String, rows: &[Row]) -> std::fmt::Result {
    let lines = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    let height = TOP + LINE * f64::from(lines) + 10.0;
    writeln!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12" fill="#222">
<rect width="100%" height="100%" fill="#fff"/>"##
    )?;
    for (line, row) in (0..lines).zip(rows) {
        let (x, y) = (NAMES - 8.0, TOP + LINE * f64::from(line) + 15.0);
        let name = row.contestant;
        writeln!(
            svg,
            r#"<text x="{x}" y="{y}" text-anchor="end">{name}</text>"#
        )?;
    }
    for panel in PANELS {
        write_panel(svg, &panel, rows)?;
    }
    writeln!(svg, "</svg>")
}

fn write_panel(svg: &mut String, panel: &Panel, rows: &[Row]) -> std::fmt::Result {
    let Panel {
        title,
        left,
        number,
    } = panel;
    let most = rows.iter().map(|row| number(row).max);
    let most = most.fold(f64::MIN_POSITIVE, f64::max);
    let scaled = |value: f64| value / most * PANEL;
    writeln!(
        svg,
        r#"<text x="{left}" y="24" font-weight="bold">{title}</text>"#
    )?;
    for (line, row) in (0_u16..).zip(rows) {
        let spread = number(row);
        let top = TOP + LINE * f64::from(line);
        let (middle, base) = (top + LINE / 2.0, top + 15.0);
        let (from, to) = (left + scaled(spread.min), left + scaled(spread.max));
        writeln!(
            svg,
            r##"<rect x="{left}" y="{:.1}" width="{:.1}" height="{:.1}" fill="{}"/>
<line x1="{from:.1}" y1="{middle:.1}" x2="{to:.1}" y2="{middle:.1}" stroke="#222"/>
<text x="{:.1}" y="{base:.1}">{:.0}</text>"##,
            top + 3.0,
            scaled(spread.median),
            LINE - 6.0,
            colour(row.contestant.who),
            to + 6.0,
            spread.median,
        )?;
    }
    Ok(())
}

fn colour(who: Who) -> &'static str {
    match who {
        Who::Raw => "#9a9a9a",
        Who::Ruststream => "#d9a441",
        Who::Queuelet(Instances::Fresh) => "#4a7fb5",
        Who::Queuelet(Instances::Reuse) => "#7fb0d9",
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::with_report;
    use super::*;

    #[test]
    fn the_greatest_fills_its_panel_and_the_others_are_in_proportion() {
        with_report(|report| {
            let svg = plot(&report.rows());
            // 1100 and 900 of the 1200 that one run had.
            for width in [PANEL * 1100.0 / 1200.0, PANEL * 900.0 / 1200.0] {
                assert!(svg.contains(&format!(r#"width="{width:.1}""#)), "{svg}");
            }
            assert!(svg.contains(">queuelet, fresh, each, single, 16<"));
            assert_eq!(svg.matches("<line").count(), 4);
        });
    }
}
