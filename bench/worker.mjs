// Runs one locker in one scenario, in its own process. It runs the actions that the crew sends.
// Arguments: the locker, the scenario's file, its terms as JSON.
import { settled } from './callers.mjs';
import { loadLocker } from './load-locker.mjs';
import { warmUp } from './warm-up.mjs';

const [lockerName, scenarioPath, terms] = process.argv.slice(2);

process.on('disconnect', () => process.exit());

const [{ create }, { actions }] = await Promise.all([
  loadLocker(lockerName),
  import(`./${scenarioPath}.mjs`),
]);
const locker = await create(JSON.parse(terms));
const known = { ...actions, warmUp, settled };
// Connections are up and scripts are loaded before the clock starts.
await locker.permits?.(`ready:${process.pid}`, 1);
if (locker.acquire) await (await locker.acquire(`ready:${process.pid}`))();

process.on('message', async ({ id, action, args }) => {
  const cpu = process.cpuUsage();
  try {
    const result = await known[action](locker, args);
    const { user, system } = process.cpuUsage(cpu);
    process.send({ id, result, cpuUs: user + system });
  } catch (error) {
    process.send({ id, error: String(error?.stack ?? error) });
  }
});
process.send({ ready: true });
