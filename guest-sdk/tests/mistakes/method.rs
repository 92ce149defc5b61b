struct Orders;

impl Orders {
    #[queuelet_guest::subscriber(queuelet_guest::SqsQueue)]
    fn handle(&self, _: &[u8]) {}
}

fn main() {}
