//! Servers that answer too late or too much. What a sound one does is tried with the program.

use crate::{S3Bucket, S3Config};
use cofferdam_core::text::with_causes;
use cofferdam_warden::attachments::outgoing::Bucket;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A bucket of a server that does this with each request, and how many it has had.
fn bucket(answer: fn(&mut TcpStream)) -> (S3Bucket, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 4096]);
                answer(&mut stream);
            });
        }
    });
    let endpoint = format!("http://{address}");
    let set = [
        ("AWS_ENDPOINT_URL", endpoint.as_str()),
        ("AWS_REGION", "eu-1"),
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2"),
    ];
    let set = set.map(|(name, text)| (name.to_owned(), text.to_owned())).into_iter().collect();
    let config = S3Config::new("s3://replies", &set).expect("a bucket");
    (S3Bucket::new(&config).expect("its settings"), asked)
}

fn head(stream: &mut TcpStream, length: usize) {
    let head = format!(
        "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nLast-Modified: Fri, 27 Nov 2026 08:00:00 GMT\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    drop(stream.write_all(head.as_bytes()));
}

fn get(bucket: &S3Bucket, bytes_max: u64) -> std::io::Error {
    let started = Instant::now();
    let to = tempfile::tempfile().expect("a file");
    let error = bucket.get(&"ab".repeat(32), bytes_max, to).expect_err("refused");
    // Three tries with pauses between them, each of them bounded.
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    error
}

#[test]
fn who_never_answers_is_given_up_after_a_few_tries() {
    let (bucket, asked) = bucket(|_| std::thread::sleep(Duration::from_secs(60)));
    assert_eq!(get(&bucket, 100).to_string(), "the bucket cannot be used now");
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

#[test]
fn a_body_that_never_ends_is_given_up() {
    let (bucket, _) = bucket(|stream| {
        head(stream, 1 << 20);
        while stream.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    assert_eq!(get(&bucket, 1 << 20).to_string(), "the bucket cannot be used now");
}

#[test]
fn more_bytes_than_a_file_may_have_are_not_taken() {
    let (bucket, _) = bucket(|stream| {
        head(stream, 1000);
        drop(stream.write_all(&[b'x'; 1000]));
    });
    let error = get(&bucket, 999);
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::InvalidData, "the bucket has something else")
    );
    let to = tempfile::tempfile().expect("a file");
    bucket.get(&"ab".repeat(32), 1000, to.try_clone().expect("a copy")).expect("as many as it may have");
    assert_eq!(to.metadata().expect("there").len(), 1000);
}

/// A page of a listing, with these names, after which there always is one more.
fn page(stream: &mut TcpStream, names: &[&str]) {
    let object = |name: &&str| {
        format!(
            "<Contents><Key>{name}</Key><Size>1</Size><LastModified>2026-11-27T08:00:00Z</LastModified></Contents>"
        )
    };
    let objects: String = names.iter().map(object).collect();
    let page = format!(
        "<ListBucketResult>{objects}<NextContinuationToken>more</NextContinuationToken></ListBucketResult>"
    );
    head(stream, page.len());
    drop(stream.write_all(page.as_bytes()));
}

#[test]
fn a_listing_of_other_objects_ends_with_an_error() {
    let (bucket, asked) = bucket(|stream| page(stream, &["one", "two", "three"]));
    let error = bucket.list(5).expect_err("others");
    assert_eq!(error.to_string(), "the bucket cannot be used now");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[test]
fn a_listing_of_empty_pages_is_given_up() {
    let (bucket, _) = bucket(|stream| {
        std::thread::sleep(Duration::from_millis(50));
        page(stream, &[]);
    });
    let started = Instant::now();
    assert_eq!(bucket.list(5).expect_err("late").to_string(), "the bucket cannot be used now");
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}

/// An answer with this status, of so many bytes.
fn pour(stream: &mut TcpStream, status: &str, bytes: usize) {
    drop(stream.write_all(format!("HTTP/1.1 {status}\r\nConnection: close\r\n\r\n").as_bytes()));
    drop(stream.write_all(&vec![b'x'; bytes]));
}

#[test]
fn a_page_or_an_error_that_goes_on_and_on_is_not_read_to_its_end() {
    let (listed, asked) = bucket(|stream| pour(stream, "200 OK", (8 << 20) + 1));
    let error = with_causes(&listed.list(5).expect_err("long"));
    assert!(error.contains("length limit exceeded"), "{error}");
    assert_eq!(asked.load(Ordering::SeqCst), 1, "another try would be as long");
    let (refused, _) = bucket(|stream| pour(stream, "403 Forbidden", (64 << 10) + 1));
    let error = with_causes(&get(&refused, 100));
    assert!(error.contains("length limit exceeded"), "{error}");
    let (refused, _) = bucket(|stream| pour(stream, "403 Forbidden", 64 << 10));
    assert_eq!(get(&refused, 100).to_string(), "the bucket refuses it");
}
