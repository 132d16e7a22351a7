import type { Simulation } from './simulation.js';

/** Something that all processes of a simulation share, for each key; made with the first look at it. */
export function byKey<T>(make: () => T): (simulation: Simulation, key: string) => T {
  const bySimulation = new WeakMap<Simulation, Map<string, T>>();
  return (simulation, key) => {
    const all = bySimulation.get(simulation) ?? new Map<string, T>();
    bySimulation.set(simulation, all);
    const one = all.get(key) ?? make();
    all.set(key, one);
    return one;
  };
}
