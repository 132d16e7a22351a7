import { LEFT_BY_JAVA, type JavaSide } from './java/java-side.js';
import type { Trial } from './primitives.js';
import type { SimulatedServer } from './simulated-server.js';
import type { Simulation } from './simulation.js';

/** A server forgets a client that has vanished within this time. */
const FORGOTTEN_MS = 60_000;
/** Longer than any key of a lock lives that is not in use. */
const AFTERWARDS_MS = 8 * 24 * 60 * 60 * 1_000;

/** All callers are gone: every service shuts down, and nothing may be left. */
export async function end(
  simulation: Simulation,
  trial: Trial,
  java: JavaSide | undefined,
): Promise<void> {
  const { world, addresses } = simulation;
  if (trial.atEnd !== undefined) await lookAtEnd(simulation, trial.atEnd);
  await closeAll(simulation);
  java?.close();
  const closedAt = world.now;
  await world.run(() => world.now > closedAt + FORGOTTEN_MS);
  lookAtProcesses(simulation);
  const keeps = (key: string) =>
    trial.keeps.test(key) || (java !== undefined && LEFT_BY_JAVA.test(key));
  for (const { master } of addresses) lookAtServer(simulation, master, keeps);
}

/** Once all is quiet. */
async function lookAtEnd(simulation: Simulation, look: NonNullable<Trial['atEnd']>): Promise<void> {
  const { world, referee, applications } = simulation;
  const [app] = applications;
  if (app === undefined) return;
  await world.run(() => referee.isQuiet());
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  simulation.in(app.process, () => {
    look(app, simulation).then(over, (error: unknown) => {
      referee.broken('reason for an error', String(error));
      over();
    });
  });
  await world.run(() => isOver);
}

async function closeAll(simulation: Simulation): Promise<void> {
  const { world, referee, applications, plan } = simulation;
  const begunAt = world.now;
  let open = applications.size;
  for (const app of applications) {
    simulation.in(app.process, () => {
      void app.close().then(() => {
        open -= 1;
      });
    });
  }
  const limitMs = plan.settings.shutdownTimeoutMs + 10_000;
  await world.run(() => open === 0 || world.now > begunAt + limitMs);
  if (open > 0) referee.broken('shutdown', `a shutdown takes longer than ${String(limitMs)} ms`);
}

function lookAtProcesses({ world, referee, applications }: Simulation): void {
  for (const { process, context } of applications) {
    referee.closed(process, context.id);
    const timers = world.of(process);
    if (timers > 0) referee.broken('nothing left', `${process.name} has ${String(timers)} timers`);
    if (context.waiting > 0 || context.holds.all.length > 0) {
      referee.broken('nothing left', `${process.name} waits or holds after its end`);
    }
  }
}

function lookAtServer(
  { referee }: Simulation,
  { channels, store, clock }: SimulatedServer,
  keeps: (key: string) => boolean,
): void {
  if (channels.length > 0) referee.broken('nothing left', `channels ${channels.join(', ')}`);
  store.now = Math.floor(clock.wall()) + AFTERWARDS_MS;
  const left = store.keys.filter((key) => !keeps(key));
  if (left.length > 0) referee.broken('nothing left', `keys ${left.join(', ')}`);
}
