//! The report's plots, as inline SVG.

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::evaluate::summary::{Calibration, Mean, Summary};

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

const UNIT: std::ops::Range<f64> = 0.0..1.0;

/// f1 of every engine with its interval.
pub fn overview(summary: &Summary) -> String {
    let rows = summary
        .engines
        .iter()
        .map(|(name, engine)| (name.clone(), engine.all.f1))
        .collect::<Vec<_>>();
    bars("f1", &rows)
}

/// f1 of every engine and language.
pub fn languages(summary: &Summary) -> String {
    let rows = summary.engines.iter().flat_map(|(name, engine)| {
        engine.languages.iter().map(move |(language, scores)| {
            (format!("{name}, {language} ({})", scores.tasks), scores.f1)
        })
    });
    bars("f1 by language", &rows.collect::<Vec<_>>())
}

/// Precision against coverage as the gate's bar rises, one line an engine.
pub fn precision_coverage(summary: &Summary) -> String {
    draw(520, |root| {
        let mut chart = square(root, "precision of injected files by coverage")?;
        for (at, (name, engine)) in summary.engines.iter().enumerate() {
            let color = Palette99::pick(at).to_rgba();
            let points = engine
                .all
                .gated
                .curve
                .iter()
                .map(|&(_, precision, coverage)| (coverage, precision));
            chart.draw_series(LineSeries::new(points, color.stroke_width(2)))?.label(name).legend(
                move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)),
            );
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.2))
            .draw()
    })
}

/// Observed against predicted frequency, with the diagonal of perfect calibration.
pub fn reliability(calibration: &Calibration) -> String {
    draw(420, |root| {
        let mut chart = square(root, "observed by predicted")?;
        chart.draw_series(LineSeries::new([(0.0, 0.0), (1.0, 1.0)], BLACK.mix(0.3)))?;
        let points = calibration.bins.iter().map(|&(predicted, observed, _)| (predicted, observed));
        chart.draw_series(LineSeries::new(points.clone(), BLUE.stroke_width(2)))?;
        chart.draw_series(points.map(|point| Circle::new(point, 4, BLUE.filled())))?;
        Ok(())
    })
}

fn square<'a, 'b>(
    root: &'a DrawingArea<SVGBackend<'b>, plotters::coord::Shift>,
    title: &str,
) -> Result<Chart<'a, 'b>, DrawError> {
    let mut chart = ChartBuilder::on(root)
        .caption(title, ("sans-serif", 15))
        .margin(10)
        .x_label_area_size(28)
        .y_label_area_size(36)
        .build_cartesian_2d(UNIT, UNIT)?;
    chart.configure_mesh().light_line_style(TRANSPARENT).draw()?;
    Ok(chart)
}

/// Horizontal bars with intervals, a label each, in the order given.
fn bars(title: &str, rows: &[(String, Mean)]) -> String {
    let height = 70 + 26 * rows.len() as u32;
    draw(height, |root| {
        let mut chart = ChartBuilder::on(root)
            .caption(title, ("sans-serif", 15))
            .margin(10)
            .x_label_area_size(28)
            .y_label_area_size(190)
            .build_cartesian_2d(UNIT, 0.0..rows.len() as f64)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .y_labels(rows.len() * 2 + 1)
            .y_label_formatter(&|y| {
                let at = rows.len() as f64 - y - 0.5;
                let row =
                    (at.fract().abs() < 1e-6 && at >= 0.0).then(|| rows.get(at as usize)).flatten();
                row.map_or(String::new(), |row| row.0.clone())
            })
            .light_line_style(TRANSPARENT)
            .draw()?;
        for (at, (_, value)) in rows.iter().enumerate() {
            let middle = rows.len() as f64 - at as f64 - 0.5;
            let bar = [(0.0, middle - 0.3), (value.mean, middle + 0.3)];
            chart.draw_series([Rectangle::new(bar, BLUE.mix(0.55).filled())])?;
            let interval = [(value.lo, middle), (value.hi, middle)];
            chart.draw_series([PathElement::new(interval, BLACK.stroke_width(2))])?;
        }
        Ok(())
    })
}

type DrawError = DrawingAreaErrorKind<std::io::Error>;

fn draw(
    height: u32,
    paint: impl FnOnce(&DrawingArea<SVGBackend<'_>, plotters::coord::Shift>) -> Result<(), DrawError>,
) -> String {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (640, height)).into_drawing_area();
        // Writing into a string cannot fail; were it to, the report keeps its tables.
        let _ = root.fill(&WHITE).and_then(|()| paint(&root)).and_then(|()| root.present());
    }
    svg
}
