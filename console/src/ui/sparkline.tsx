// Owns: small lines next to a number. Does not own: charts with axes (chart.tsx).
import "./sparkline.css";

const WIDTH = 120;
const HEIGHT = 28;

/** A line without axes, from the least to the most of its values: the number next to it says how much that is. */
export function Sparkline({ values, color = "--accent" }: { readonly values: readonly number[]; readonly color?: string }) {
  const least = Math.min(...values);
  const range = Math.max(...values) - least;
  const points = values.map((value, at) => {
    const x = (at / Math.max(1, values.length - 1)) * WIDTH;
    const y = range === 0 ? HEIGHT / 2 : HEIGHT - 2 - ((value - least) / range) * (HEIGHT - 4);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {points.length < 2 ? null : (
        <polyline points={points.join(" ")} fill="none" stroke={`var(${color})`} stroke-width="1.5" vector-effect="non-scaling-stroke" />
      )}
    </svg>
  );
}
