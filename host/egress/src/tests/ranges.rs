//! Which addresses are public.

use crate::range_of;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn check(address: &str, range: Option<&str>) {
    let parsed: IpAddr = address.parse().expect(address);
    assert_eq!(range_of(parsed), range, "{address}");
}

#[test]
fn what_is_not_public_is_told_by_its_range() {
    for (address, range) in [
        ("0.0.0.0", "this network"),
        ("0.255.255.255", "this network"),
        ("10.0.0.0", "private"),
        ("10.255.255.255", "private"),
        ("100.64.0.0", "a carrier's shared space"),
        ("100.100.100.200", "a carrier's shared space"),
        ("100.127.255.255", "a carrier's shared space"),
        ("127.0.0.1", "loopback"),
        ("127.255.255.255", "loopback"),
        ("168.63.129.16", "a cloud's own service"),
        ("169.254.169.254", "link-local"),
        ("172.16.0.0", "private"),
        ("172.31.255.255", "private"),
        ("192.0.0.192", "reserved for protocols"),
        ("192.0.2.1", "documentation"),
        ("192.88.99.1", "a 6to4 relay"),
        ("192.168.255.255", "private"),
        ("198.18.0.0", "benchmarks"),
        ("198.19.255.255", "benchmarks"),
        ("198.51.100.1", "documentation"),
        ("203.0.113.255", "documentation"),
        ("224.0.0.1", "multicast"),
        ("239.255.255.255", "multicast"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "reserved"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("::7f00:1", "IPv4-compatible"),
        ("::8.8.8.8", "IPv4-compatible"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:10.0.0.1", "private"),
        ("::ffff:0:8.8.8.8", "reserved"),
        ("64:ff9b::169.254.169.254", "link-local"),
        ("64:ff9b::a00:1", "private"),
        ("64:ff9b:1::8.8.8.8", "a local NAT64 prefix"),
        ("64:ff9b:1:ffff::1", "a local NAT64 prefix"),
        ("64:ff9b:2::1", "reserved"),
        ("100::1", "discarded"),
        ("1fff::1", "reserved"),
        ("2001::1", "a Teredo tunnel"),
        ("2001:0:808:808::1", "a Teredo tunnel"),
        ("2001:20::1", "reserved for protocols"),
        ("2001:1ff::1", "reserved for protocols"),
        ("2001:db8::1", "documentation"),
        ("2002:7f00:1::", "a 6to4 tunnel"),
        ("2002:808:808::1", "a 6to4 tunnel"),
        ("3fff::1", "documentation"),
        ("3fff:fff::1", "documentation"),
        ("4000::1", "reserved"),
        ("5f00::1", "reserved"),
        ("fc00::1", "unique local"),
        ("fd00:ec2::254", "unique local"),
        ("fe80::1", "link-local"),
        ("febf::1", "link-local"),
        ("fec0::1", "site-local"),
        ("ff02::1", "multicast"),
    ] {
        check(address, Some(range));
    }
}

#[test]
fn what_lies_beside_is_public() {
    for address in [
        "1.0.0.0",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "169.253.255.255",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.88.98.255",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.0",
        "203.0.114.0",
        "223.255.255.255",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2000::1",
        "2001:200::1",
        "2606:4700::1",
        "3ffe::1",
    ] {
        check(address, None);
    }
}

/// An address that is so much behind another one, if there is one.
fn beside(address: IpAddr, by: i8) -> Option<IpAddr> {
    match address {
        IpAddr::V4(v4) => {
            v4.to_bits().checked_add_signed(by.into()).map(|bits| Ipv4Addr::from_bits(bits).into())
        }
        IpAddr::V6(v6) => {
            v6.to_bits().checked_add_signed(by.into()).map(|bits| Ipv6Addr::from_bits(bits).into())
        }
    }
}

#[test]
fn each_range_ends_where_it_ends() {
    for (first, last, range) in [
        ("0.0.0.0", "0.255.255.255", "this network"),
        ("10.0.0.0", "10.255.255.255", "private"),
        ("100.64.0.0", "100.127.255.255", "a carrier's shared space"),
        ("127.0.0.0", "127.255.255.255", "loopback"),
        ("169.254.0.0", "169.254.255.255", "link-local"),
        ("172.16.0.0", "172.31.255.255", "private"),
        ("192.0.0.0", "192.0.0.255", "reserved for protocols"),
        ("192.0.2.0", "192.0.2.255", "documentation"),
        ("192.88.99.0", "192.88.99.255", "a 6to4 relay"),
        ("192.168.0.0", "192.168.255.255", "private"),
        ("198.18.0.0", "198.19.255.255", "benchmarks"),
        ("198.51.100.0", "198.51.100.255", "documentation"),
        ("203.0.113.0", "203.0.113.255", "documentation"),
        ("168.63.129.16", "168.63.129.16", "a cloud's own service"),
        ("224.0.0.0", "239.255.255.255", "multicast"),
        ("240.0.0.0", "255.255.255.255", "reserved"),
        ("::", "::", "unspecified"),
        ("::1", "::1", "loopback"),
        ("::2", "::ffff:ffff", "IPv4-compatible"),
        ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "a local NAT64 prefix"),
        ("100::", "100::ffff:ffff:ffff:ffff", "discarded"),
        ("2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "a Teredo tunnel"),
        ("2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "reserved for protocols"),
        ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"),
        ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "a 6to4 tunnel"),
        ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"),
        ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "unique local"),
        ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "link-local"),
        ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "site-local"),
        ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "multicast"),
    ] {
        check(first, Some(range));
        check(last, Some(range));
        for (end, by) in [(first, -1), (last, 1)] {
            let Some(other) = beside(end.parse().expect(end), by) else { continue };
            assert_ne!(range_of(other), Some(range), "{other}");
        }
    }
}

/// The same by the standard library's own questions, which are fewer.
fn is_special(address: Ipv4Addr) -> bool {
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_unspecified()
        || address.is_multicast()
}

proptest! {
    #[test]
    fn no_way_of_writing_a_private_address_is_public(bits: u32) {
        let v4 = Ipv4Addr::from_bits(bits);
        let is_public = range_of(v4.into()).is_none();
        prop_assert!(!(is_public && is_special(v4)), "{}", v4);
        let inner = u128::from(bits);
        for (prefix, same) in [
            (0xffff_u128 << 32, true),
            (0x0064_ff9b_u128 << 96, true),
            (0, false),
            (0x0064_ff9b_0001_u128 << 80, false),
            (0xffff_u128 << 48, false),
        ] {
            let v6 = Ipv6Addr::from_bits(prefix | inner);
            prop_assert_eq!(range_of(v6.into()).is_none(), is_public && same, "{}", v6);
        }
        for v6 in [
            Ipv6Addr::from_bits((0x2002_u128 << 112) | (inner << 80)),
            Ipv6Addr::from_bits((0x2001_u128 << 112) | (inner << 64)),
        ] {
            prop_assert!(range_of(v6.into()).is_some(), "{}", v6);
        }
    }
}
