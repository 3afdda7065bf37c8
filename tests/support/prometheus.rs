//! Reads Prometheus' text format, version 0.0.4, strictly: what its own parser would refuse or warn
//! of is an error here. <https://prometheus.io/docs/instrumenting/exposition_formats/>

use anyhow::{Context, bail, ensure};
use std::collections::BTreeMap;

/// A page of numbers.
#[derive(Debug)]
pub struct Page {
    samples: BTreeMap<Series, f64>,
}

/// A name with its labels.
type Series = (String, BTreeMap<String, String>);

/// A family whose samples follow.
struct Family {
    name: String,
    kind: Option<String>,
}

impl Page {
    /// Reads a page.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        ensure!(text.ends_with('\n'), "the last line does not end");
        let (mut samples, mut seen, mut family) = (BTreeMap::new(), BTreeMap::new(), None::<Family>);
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, _) = help.split_once(' ').with_context(|| format!("no help: {line:?}"))?;
                ensure!(seen.insert(name.to_owned(), ()).is_none(), "{name} is told twice");
                ensure!(is_name(name), "no name: {line:?}");
                family = Some(Family { name: name.to_owned(), kind: None });
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').with_context(|| format!("no type: {line:?}"))?;
                ensure!(["counter", "gauge", "histogram"].contains(&kind), "{line:?}");
                let family = family.as_mut().filter(|family| family.name == name && family.kind.is_none());
                family.with_context(|| format!("a type without its help: {line:?}"))?.kind =
                    Some(kind.to_owned());
            } else {
                let (series, value) = sample(line)?;
                let family = family.as_ref().with_context(|| format!("of no family: {line:?}"))?;
                family.admits(&series.0, value)?;
                ensure!(samples.insert(series, value).is_none(), "twice: {line:?}");
            }
        }
        let page = Self { samples };
        page.histograms_add_up()?;
        Ok(page)
    }

    /// The value of a series.
    pub fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let labels = labels.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        self.samples.get(&(name.to_owned(), labels)).copied()
    }

    /// All values of a name together.
    pub fn sum(&self, name: &str) -> f64 {
        self.samples.iter().filter(|((found, _), _)| found == name).map(|(_, value)| value).sum()
    }

    /// Every text of every label.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.samples.keys().flat_map(|(_, labels)| labels.values()).map(String::as_str)
    }

    fn histograms_add_up(&self) -> anyhow::Result<()> {
        let mut before: Option<(String, f64)> = None;
        let mut buckets: Vec<(&str, f64, f64)> = Vec::new();
        for ((name, labels), value) in &self.samples {
            if let Some(of) = name.strip_suffix("_bucket") {
                let bound = labels.get("le").context("a bucket without its bound")?;
                let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse()? };
                buckets.push((of, bound, *value));
            }
        }
        buckets.sort_by(|a, b| a.0.cmp(b.0).then(a.1.total_cmp(&b.1)));
        for (of, bound, count) in buckets {
            if let Some((_, less)) = before.as_ref().filter(|(last, _)| last == of) {
                ensure!(count >= *less, "{of}: bucket {bound} has less than the one before");
            }
            if bound.is_infinite() {
                ensure!(
                    self.get(&format!("{of}_count"), &[]) == Some(count),
                    "{of}: the last bucket is not all"
                );
            }
            before = Some((of.to_owned(), count));
        }
        Ok(())
    }
}

impl Family {
    fn admits(&self, name: &str, value: f64) -> anyhow::Result<()> {
        let kind = self.kind.as_deref().with_context(|| format!("{} has no type", self.name))?;
        let rest = name.strip_prefix(self.name.as_str());
        let fits = match kind {
            "histogram" => matches!(rest, Some("_bucket" | "_sum" | "_count")),
            _ => rest == Some(""),
        };
        ensure!(fits, "{name} stands among {}", self.name);
        ensure!(kind == "gauge" || value >= 0.0, "{name} is a {kind} of {value}");
        ensure!(kind != "counter" || name.ends_with("_total"), "{name} is a counter without _total");
        Ok(())
    }
}

fn sample(line: &str) -> anyhow::Result<(Series, f64)> {
    let wrong = || format!("no sample: {line:?}");
    let end = line.find(['{', ' ']).with_context(wrong)?;
    let (name, mut rest) = line.split_at(end);
    ensure!(is_name(name), "{}", wrong());
    let mut labels = BTreeMap::new();
    if let Some(mut inner) = rest.strip_prefix('{') {
        loop {
            let (label, after) = inner.split_once("=\"").with_context(wrong)?;
            ensure!(is_name(label) && !label.contains(':'), "{}", wrong());
            let (text, after) = quoted(after).with_context(wrong)?;
            ensure!(labels.insert(label.to_owned(), text).is_none(), "{}", wrong());
            match after.split_at_checked(1).with_context(wrong)? {
                (",", next) => inner = next,
                ("}", next) => break rest = next,
                _ => bail!(wrong()),
            }
        }
    }
    let value = rest.strip_prefix(' ').with_context(wrong)?;
    ensure!(!value.is_empty() && !value.contains(' '), "{}", wrong());
    Ok(((name.to_owned(), labels), value.parse().with_context(wrong)?))
}

/// A label's text up to its closing quote, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let (mut found, mut chars) = (String::new(), text.char_indices());
    loop {
        match chars.next()? {
            (at, '"') => return Some((found, &text[at + 1..])),
            (_, '\\') => found.push(match chars.next()?.1 {
                'n' => '\n',
                c @ ('\\' | '"') => c,
                _ => return None,
            }),
            (_, c) => found.push(c),
        }
    }
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    !name.is_empty() && name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_prometheus_would_refuse_is_refused() {
        let page =
            "# HELP a_total x\n# TYPE a_total counter\na_total{t=\"q\\\"\\n\",u=\"\"} 1\na_total 2.5\n";
        let read = Page::parse(page).expect("sound");
        assert_eq!(read.get("a_total", &[("t", "q\"\n"), ("u", "")]), Some(1.0));
        assert_eq!((read.get("a_total", &[]), read.sum("a_total")), (Some(2.5), 3.5));
        for wrong in [
            "a 1\n",
            "# TYPE a gauge\na 1\n",
            "# HELP a x\na 1\n",
            "# HELP a x\n# TYPE a gauge\na 1",
            "# HELP a x\n# TYPE a gauge\na 1\na 1\n",
            "# HELP a x\n# TYPE a gauge\nb 1\n",
            "# HELP a x\n# TYPE a counter\na 1\n",
            "# HELP a_total x\n# TYPE a_total counter\na_total -1\n",
            "# HELP a x\n# TYPE a gauge\na{x=\"\\q\"} 1\n",
            "# HELP a x\n# TYPE a gauge\na{x=\"1\" 1\n",
            "# HELP a x\n# TYPE a gauge\na{1x=\"1\"} 1\n",
            "# HELP a x\n# TYPE a gauge\na one\n",
            "# HELP h x\n# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n",
            "# HELP h x\n# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 2\n",
        ] {
            assert!(Page::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
