// Owns: small lines beside a number. Does not own: charts with axes (chart.tsx).

/** A line without axes, beside a number that says the same. */
export function Sparkline({ values, color = "--accent" }: { readonly values: readonly number[]; readonly color?: string }) {
  const WIDTH = 120;
  const HEIGHT = 28;
  const most = Math.max(...values, 0) || 1;
  const points = values.map(
    (value, at) =>
      `${((at / Math.max(1, values.length - 1)) * WIDTH).toFixed(1)},${(HEIGHT - 2 - (value / most) * (HEIGHT - 4)).toFixed(1)}`,
  );
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {points.length < 2 ? null : (
        <polyline points={points.join(" ")} fill="none" stroke={`var(${color})`} stroke-width="1.5" vector-effect="non-scaling-stroke" />
      )}
    </svg>
  );
}
