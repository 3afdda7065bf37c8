//! Fetching the files of a message from a place that does as their names say.

use super::*;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct Named(String);

impl SentFile for Named {
    fn declaration(&self) -> DeclaredFile {
        DeclaredFile { name: Some(self.0.clone()), ..DeclaredFile::default() }
    }

    fn place(&self) -> Option<i64> {
        None
    }

    fn missing_reason(&self) -> Option<String> {
        (self.0 == "nowhere").then(|| "nobody has it".to_owned())
    }
}

/// Brings each file's name, and counts.
#[derive(Default)]
struct Place {
    at_once: AtomicUsize,
    most: AtomicUsize,
}

impl Place {
    async fn fetch(&self, Named(name): Named, mut download: Download) -> Attachment {
        let at_once = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(at_once, Ordering::SeqCst);
        // The later ones come in first.
        for _ in 0..20 - download.info.index {
            tokio::task::yield_now().await;
        }
        self.at_once.fetch_sub(1, Ordering::SeqCst);
        match name.as_str() {
            "gone" => download.fail("it is gone"),
            "panics" => panic!("a fault of the channel"),
            name => {
                let _ = download.write(name.as_bytes());
                download.finish()
            }
        }
    }
}

#[tokio::test]
async fn each_file_keeps_its_place_and_few_are_fetched_at_once() {
    let (_dir, store) = store();
    let limits = Config { max_count: 7, ..Config::default() };
    let (place, told) = (Arc::new(Place::default()), Mutex::new(Vec::new()));
    let files = ["a", "nowhere", "gone", "b", "panics", "c", "d", "e"];
    let files = files.map(|name| Named(name.to_owned())).to_vec();
    let tell = |done, of| told.lock().unwrap().push((done, of));
    let fetch = |file, download| {
        let place = place.clone();
        async move { place.fetch(file, download).await }
    };
    let list = fetch_all(files, Intake::new(&store, &limits), fetch, tell).await;
    let shown = |info: cofferdam_core::attachment::AttachmentInfo| {
        format!("{} {}: {}", info.index, info.name.unwrap(), info.unavailable.unwrap_or_default())
    };
    let shown: Vec<_> = list.infos().into_iter().map(shown).collect();
    let expected = [
        "0 a: ",
        "1 nowhere: nobody has it",
        "2 gone: it is gone",
        "3 b: ",
        "4 panics: the download did not finish",
        "5 c: ",
        "6 d: ",
        "7 e: too many: it is number 8, and a message may bring 7",
    ];
    assert_eq!(shown, expected);
    // What is refused before is not counted; what panics is done with as well.
    assert_eq!(*told.lock().unwrap(), (0..=6).map(|done| (done, 6)).collect::<Vec<_>>());
    assert_eq!(place.most.load(Ordering::SeqCst), 3);
}
