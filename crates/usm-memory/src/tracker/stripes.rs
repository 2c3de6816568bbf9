//! Which bytes of a range strided elements have.

use std::ops::Range;

/// Bytes of a range that an operation uses: the first `width_bytes` of every `period_bytes`.
///
/// Elements that are far apart leave gaps between them, which others may use meanwhile: two columns of a matrix, or its even and its odd
/// rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stripes {
    /// Bytes from the start of one stripe to that of the next one. With zero these are all bytes of the range.
    pub period_bytes: usize,
    /// Bytes of a stripe.
    pub width_bytes: usize,
}

impl Stripes {
    /// Stripes that have all strided elements, counted from the lowest one; `None` where these would have no gaps.
    ///
    /// `axes` are the numbers of elements and the distances in bytes, without sign, from each to the next; all elements together lie in memory. The
    /// period divides the distances along some axes; the other axes, with smaller distances, lie in the width. Of all such stripes these have
    /// the largest gaps for their period.
    ///
    /// ```
    /// use usm_memory::Stripes;
    ///
    /// // Every fourth column of a matrix of 8-byte elements with 100 rows of 64 columns, and its first 16 columns.
    /// let columns = Stripes::covering(8, [(100, 512), (16, 32)].into_iter());
    /// assert_eq!(columns, Some(Stripes { period_bytes: 32, width_bytes: 8 }));
    /// let block = Stripes::covering(8, [(100, 512), (16, 8)].into_iter());
    /// assert_eq!(block, Some(Stripes { period_bytes: 512, width_bytes: 128 }));
    /// ```
    #[must_use]
    pub fn covering(
        itemsize_bytes: usize,
        axes: impl Iterator<Item = (usize, usize)> + Clone,
    ) -> Option<Self> {
        let axes = axes.filter(|&(size, step)| size > 1 && step > 0);
        let from = |least: usize| {
            let repeated = axes.clone().filter(|&(_, step)| step >= least);
            let period_bytes = repeated.fold(0, |period, (_, step)| greatest_common_divisor(period, step));
            let within = axes.clone().filter(|&(_, step)| step < least);
            let width_bytes = itemsize_bytes + within.map(|(size, step)| (size - 1) * step).sum::<usize>();
            Self { period_bytes, width_bytes }
        };
        let all = axes.clone().map(|(_, step)| from(step)).filter(|one| one.width_bytes < one.period_bytes);
        all.reduce(|best, other| {
            let density = |one: Self, of: Self| one.width_bytes as u128 * of.period_bytes as u128;
            if density(other, best) < density(best, other) { other } else { best }
        })
    }

    /// Whether two ranges surely have no byte in common, of which all bytes are used or stripes. Both have stripes of one period: the
    /// greatest common divisor of the two periods.
    pub(crate) fn are_apart(a: (&Range<usize>, Option<Self>), b: (&Range<usize>, Option<Self>)) -> bool {
        let of = |(range, stripes): (&Range<usize>, Option<Self>)| match stripes {
            Some(stripes) if stripes.period_bytes > 0 => {
                (stripes.period_bytes, stripes.width_bytes.min(range.len()))
            }
            // One stripe, which is not repeated.
            _ => (0, range.len()),
        };
        let ((period, width), (other_period, other_width)) = (of(a), of(b));
        let period = greatest_common_divisor(period, other_period);
        if period == 0 {
            return false;
        }
        let (start, other_start) = (a.0.start % period, b.0.start % period);
        let distance = (other_start + period - start) % period;
        distance >= width && distance + other_width <= period
    }
}

fn greatest_common_divisor(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(range: &Range<usize>, stripes: Option<Stripes>) -> Vec<usize> {
        let is_used = |byte: &usize| {
            let stripes = stripes.filter(|stripes| stripes.period_bytes > 0);
            stripes.is_none_or(|stripes| (byte - range.start) % stripes.period_bytes < stripes.width_bytes)
        };
        range.clone().filter(is_used).collect()
    }

    /// All small ones against their bytes: never apart with a byte in common, and found to be apart with one period.
    #[test]
    #[cfg_attr(miri, ignore = "plain arithmetic over all small cases")]
    fn ranges_are_apart_only_without_a_common_byte() {
        let kinds: Vec<_> = (1..=6)
            .flat_map(|period_bytes| {
                (1..=period_bytes).map(move |width_bytes| Some(Stripes { period_bytes, width_bytes }))
            })
            .chain([None, Some(Stripes { period_bytes: 0, width_bytes: 1 })])
            .collect();
        let (mut num_apart, mut num_missed) = (0, 0);
        for start in 0..13 {
            for len in [1, 3, 7, 12] {
                for (one, other) in kinds.iter().flat_map(|one| kinds.iter().map(move |other| (*one, *other)))
                {
                    let (a, b) = (6..14, start..start + len);
                    let is_apart = Stripes::are_apart((&a, one), (&b, other));
                    assert_eq!(is_apart, Stripes::are_apart((&b, other), (&a, one)));
                    let (used, other_used) = (bytes(&a, one), bytes(&b, other));
                    let has_common = used.iter().any(|byte| other_used.contains(byte));
                    assert!(!(is_apart && has_common), "{one:?} of {a:?} and {other:?} of {b:?}");
                    num_apart += usize::from(is_apart);
                    let has_one_period =
                        one.map(|one| one.period_bytes) == other.map(|other| other.period_bytes);
                    let common_len = a.end.min(b.end).saturating_sub(a.start.max(b.start));
                    num_missed += usize::from(
                        !is_apart
                            && !has_common
                            && has_one_period
                            && one.is_some_and(|one| one.period_bytes > 0)
                            && common_len >= 6,
                    );
                }
            }
        }
        assert!(num_apart > 1000, "{num_apart}");
        assert_eq!(num_missed, 0);
    }

    /// All strided elements with up to two axes, and some with three.
    #[test]
    #[cfg_attr(miri, ignore = "plain arithmetic over all small cases")]
    fn stripes_cover_the_elements_and_no_more_than_their_distances_say() {
        let sizes_and_steps: Vec<_> =
            (1..=3).flat_map(|size| (0..=13).map(move |step| (size, step))).collect();
        let third = [(1, 0), (2, 24), (3, 5)];
        let (mut num_striped, mut num_checked) = (0, 0);
        let pairs = sizes_and_steps.iter().flat_map(|a| sizes_and_steps.iter().map(move |b| [*a, *b]));
        for [a, b, c] in pairs.flat_map(|[a, b]| third.map(|c| [a, b, c])) {
            let axes = [a, b, c];
            for itemsize in [1, 4] {
                num_checked += 1;
                let Some(stripes) = Stripes::covering(itemsize, axes.into_iter()) else { continue };
                num_striped += 1;
                assert!(stripes.width_bytes >= itemsize && stripes.width_bytes < stripes.period_bytes);
                let places = axes.iter().fold(vec![0], |places, &(size, step)| {
                    let along = |place: usize| (0..size).map(move |i| place + i * step);
                    places.into_iter().flat_map(along).collect()
                });
                let mut bytes = places.into_iter().flat_map(|place| place..place + itemsize);
                assert!(bytes.all(|byte| byte % stripes.period_bytes < stripes.width_bytes), "{axes:?}");
            }
        }
        assert!(num_striped > num_checked / 4, "{num_striped} of {num_checked}");
        // The elements up to the end of the last one, whatever the order of the axes.
        for (axes, period_bytes, width_bytes) in [
            ([(100, 512), (16, 8)], 512, 128),
            // Of two kinds of stripes the ones with fewer bytes.
            ([(100, 512), (16, 32)], 32, 8),
            ([(100, 512), (16, 16)], 512, 248),
        ] {
            for axes in [axes, [axes[1], axes[0]]] {
                let stripes = Stripes { period_bytes, width_bytes };
                assert_eq!(Stripes::covering(8, axes.into_iter()), Some(stripes));
            }
        }
        // No gaps.
        for axes in [[(3, 4), (5, 12)], [(1, 99), (5, 4)], [(0, 99), (5, 4)], [(5, 4), (5, 6)]] {
            assert_eq!(Stripes::covering(4, axes.into_iter()), None, "{axes:?}");
        }
    }

    #[test]
    fn columns_of_a_matrix_are_apart() {
        let column = |index: usize, step: usize, width: usize| {
            let start = 0x1000 + 8 * index;
            (
                start..start + 8 * (64 * 10 - 8),
                Some(Stripes { period_bytes: 8 * step, width_bytes: 8 * width }),
            )
        };
        let are_apart =
            |a: &(Range<usize>, _), b: &(Range<usize>, _)| Stripes::are_apart((&a.0, a.1), (&b.0, b.1));
        // Every fourth column of a matrix with 64, or every eighth.
        assert!(are_apart(&column(0, 4, 1), &column(1, 4, 1)));
        assert!(are_apart(&column(1, 4, 1), &column(3, 8, 1)));
        assert!(!are_apart(&column(1, 4, 1), &column(5, 8, 1)));
        // Blocks of columns.
        assert!(are_apart(&column(0, 64, 32), &column(32, 64, 32)));
        assert!(!are_apart(&column(0, 64, 33), &column(32, 64, 32)));
        // One element of another column.
        assert!(are_apart(&column(0, 4, 1), &(0x1008..0x1010, None)));
        assert!(!are_apart(&column(0, 4, 1), &(0x1000..0x1008, None)));
    }
}
