import type { Step } from '../../arena/step.js';

/** A rush has too many buyers to follow: two that sold the same piece stand for all of them. */
export function twoOfMany(steps: readonly Step[]): readonly Step[] {
  const sold = steps.flatMap((step) =>
    step.kind === 'answered' && step.answer === 'sold' ? step : [],
  );
  if (sold.length <= 2) return steps;
  const pairs = sold.flatMap((one, place) => {
    const other = sold.slice(place + 1).find(({ remaining }) => remaining === one.remaining);
    return other === undefined ? [] : [[one.buyer, other.buyer]];
  });
  const [pair = []] = pairs;
  return steps.filter((step) => 'buyer' in step && pair.includes(step.buyer ?? ''));
}
