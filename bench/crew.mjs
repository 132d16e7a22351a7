import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { inTime } from './clock.mjs';
import { pin } from './machine.mjs';
import { untilSteady } from './steady.mjs';

const WORKER = join(import.meta.dirname, 'worker.mjs');
const START_MS = 20_000;
const LONGEST_STDERR = 2_000;

/** Worker processes that use one locker in one scenario, all on one core. */
export class Crew {
  #workers;
  #probe;
  /** The CPU time of all workers, in the actions since `measured` began. */
  #cpuUs = 0;
  #isWarm = false;

  /**
   * @param {object} order
   * @param {string} order.locker a file of lockers/
   * @param {string} order.scenario the file with the actions of the workers
   * @param {number} order.processes
   * @param {string[]} [order.nodeArgs]
   * @param {import('./terms.mjs').Terms} order.terms
   * @param {import('./redis-probe.mjs').RedisProbe} order.probe
   */
  constructor({ locker, scenario, processes, nodeArgs = [], terms, probe }) {
    this.#probe = probe;
    const args = ['--expose-gc', ...nodeArgs, WORKER, locker, scenario, JSON.stringify(terms)];
    this.#workers = Array.from({ length: processes }, () => new Worker(args));
  }

  /** @param {number | undefined} core the core of all workers, where the system can pin them */
  async ready(core) {
    const ready = Promise.all(this.#workers.map((worker) => worker.ready));
    if (!(await inTime(ready, START_MS))) throw new Error('The workers did not start');
    if (core !== undefined) for (const worker of this.#workers) pin(worker.pid, core);
  }

  /**
   * Warms up once, for all trials.
   * @param {import('./pace.mjs').Pace} pace
   * @returns {Promise<string | undefined>} what went wrong
   */
  async warmUp(pace) {
    if (this.#isWarm) return undefined;
    this.#isWarm = true;
    return untilSteady((forMs) => this.all('warmUp', forMs), pace);
  }

  /** Whether all callers of the last trial have stopped waiting. */
  async isSettled() {
    const settled = await this.all('settled');
    return settled.every(Boolean);
  }

  /** All workers run the action at the same time. Resolves with the result of each. */
  async all(action, args) {
    return Promise.all(this.#workers.map((worker) => this.#ask(worker, action, args)));
  }

  /** One worker runs the action. */
  async one(index, action, args) {
    return this.#ask(this.#workers[index], action, args);
  }

  async #ask(worker, action, args) {
    const { result, cpuUs } = await worker.ask(action, args);
    this.#cpuUs += cpuUs;
    return result;
  }

  /** Runs the work. Resolves with its result, and with its cost for the workers and Redis. */
  async measured(work) {
    this.#cpuUs = 0;
    const before = await this.#probe.look();
    const result = await work();
    const redis = this.#probe.difference(before, await this.#probe.look());
    return { result, cost: { ...redis, clientUs: this.#cpuUs } };
  }

  /** Ends the workers, even if they wait. */
  async dismiss() {
    await Promise.all(this.#workers.map((worker) => worker.end()));
  }
}

class Worker {
  #child;
  #asked = new Map();
  #lastId = 0;
  #stderr = '';

  constructor(args) {
    this.#child = spawn(process.execPath, args, {
      cwd: import.meta.dirname,
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      serialization: 'advanced',
    });
    this.#child.stderr.on('data', (text) => {
      this.#stderr = `${this.#stderr}${text}`.slice(-LONGEST_STDERR);
    });
    this.exited = new Promise((resolve) => this.#child.once('close', resolve));
    this.crashed = this.exited.then((code) => {
      throw new Error(`A worker ended (${code}): ${lastError(this.#stderr)}`);
    });
    this.crashed.catch(() => undefined);
    const told = new Promise((resolve) => this.#child.once('message', resolve));
    this.ready = Promise.race([told, this.crashed]).then(() => {
      this.#child.on('message', (reply) => this.#hear(reply));
    });
  }

  get pid() {
    return this.#child.pid;
  }

  ask(action, args) {
    const id = ++this.#lastId;
    const reply = new Promise((resolve, reject) => this.#asked.set(id, { resolve, reject }));
    this.#child.send({ id, action, args });
    return Promise.race([reply, this.crashed]);
  }

  #hear({ id, error, ...reply }) {
    const { resolve, reject } = this.#asked.get(id);
    this.#asked.delete(id);
    if (error === undefined) resolve(reply);
    else reject(new Error(error));
  }

  async end() {
    this.#child.kill('SIGKILL');
    await this.exited;
  }
}

/** The line of a stack trace with the error. */
function lastError(text) {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.findLast((line) => /^\w*Error\b|Error:/.test(line)) ?? text.trim();
}
