// Read before anything is installed: Node built-ins and files like this one only.

/** @typedef {import('./instance.mjs').Instance} Instance */
/** @typedef {(line: string) => void} Say */

/**
 * @typedef {object} Example
 * @property {Record<string, string>} instances the main file of each process by its name
 * @property {boolean} [postgres] it needs a database
 * @property {(instances: Instance[], say: Say) => Promise<void>} [show] runs when all processes are ready
 */

const TWO = { one: 'main.ts', two: 'main.ts' };
const PODS = { 'pod-1': 'main.ts', 'pod-2': 'main.ts', 'pod-3': 'main.ts' };
const BUY = JSON.stringify({ query: 'mutation { buy(id: "1") }' });

/** @type {ReadonlyMap<string, Example>} */
export const EXAMPLES = new Map(
  Object.entries({
    http: { instances: TWO, show: requests(2, '/products/1/orders') },
    cron: { instances: TWO },
    bullmq: { instances: TWO },
    graphql: { instances: TWO, show: requests(2, '/graphql', BUY) },
    transaction: { instances: TWO, postgres: true, show: requests(10, '/products/tea/orders') },
    'java-and-node': { instances: { java: 'Main.java', node: 'main.ts' } },
    kubernetes: { instances: PODS, show: takeOver },
    'without-nest': { instances: TWO },
  }),
);

/**
 * Sends so many requests at once, as many to each instance, and shows the answers.
 * @param {number} count
 * @param {string} path
 * @param {string} [body] JSON
 * @returns {NonNullable<Example['show']>}
 */
function requests(count, path, body) {
  const type = 'content-type: application/json';
  const send = async (/** @type {Instance} */ instance, /** @type {Say} */ say) => {
    const headers = { connection: 'close', ...(body && { 'content-type': 'application/json' }) };
    const url = `${await instance.says(/http:\S+/)}${path}`;
    const answer = await fetch(url, { method: 'POST', headers, ...(body && { body }) });
    const retryAfter = answer.headers.get('retry-after');
    const status = `${answer.status}${retryAfter ? ` Retry-After: ${retryAfter}` : ''}`;
    say(`${instance.name} answers ${status} ${await answer.text()}`);
  };
  return async (instances, say) => {
    const url = `${await instances[0]?.says(/http:\S+/)}${path}`;
    const curl = `curl -i -X POST${body ? ` -H '${type}' -d '${body}'` : ''} ${url}`;
    say(`sends ${count} requests at once; yours: ${curl}`);
    const each = Array.from({ length: count / instances.length }, () => instances).flat();
    await Promise.all(each.map((instance) => send(instance, say)));
  };
}

/**
 * Ends the leader as a rolling update does.
 * @param {Instance[]} instances
 * @param {Say} say
 */
async function takeOver(instances, say) {
  const leads = instances.map((instance) => instance.says(/^leads$/).then(() => instance));
  const leader = await Promise.any(leads);
  say(`sends SIGTERM to ${leader.name}, the leader`);
  await leader.end();
  for (const other of instances.filter((instance) => instance !== leader))
    say(`the probe of ${other.name}: curl ${await other.says(/http:\S+/)}/health/ready`);
}
