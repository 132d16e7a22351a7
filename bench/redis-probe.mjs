import { Redis } from 'ioredis';
import { HOST } from './terms.mjs';

const SCRIPT_COMMANDS = ['eval', 'evalsha', 'eval_ro', 'evalsha_ro', 'fcall'];
const EXPIRY_COMMANDS = ['pexpire', 'set', 'psetex', 'pexpireat'];

/** The work that the server reports, without the work of the report. */
export class RedisProbe {
  #client;
  #own = { commands: 0, reads: 0 };

  static async at(port) {
    const probe = new RedisProbe(new Redis(port, HOST));
    const before = await probe.look();
    probe.#own = probe.difference(before, await probe.look());
    return probe;
  }

  /** @param {Redis} client */
  constructor(client) {
    this.#client = client;
  }

  async look() {
    const sections = ['stats', 'cpu', 'commandstats'];
    const replies = await Promise.all(sections.map((section) => this.#client.info(section)));
    const lines = replies.join('\n').split(/\r?\n/);
    return new Map(lines.map((line) => /** @type {[string, string]} */ (line.split(':', 2))));
  }

  difference(before, after) {
    const risen = (name) => Number(after.get(name) ?? 0) - Number(before.get(name) ?? 0);
    const called = (command) =>
      callsOf(after.get(`cmdstat_${command}`)) - callsOf(before.get(`cmdstat_${command}`));
    const sum = (commands) => commands.reduce((total, command) => total + called(command), 0);
    return {
      commands: risen('total_commands_processed') - this.#own.commands,
      reads: risen('total_reads_processed') - this.#own.reads,
      scriptCalls: sum(SCRIPT_COMMANDS),
      expiries: sum(EXPIRY_COMMANDS),
      redisUs: Math.max(0, 1e6 * (risen('used_cpu_user') + risen('used_cpu_sys'))),
    };
  }

  async version() {
    return /redis_version:(\S+)/.exec(await this.#client.info('server'))?.[1] ?? 'unknown';
  }

  /** The names of all keys. */
  keys() {
    return this.#client.keys('*');
  }

  async clean() {
    await this.#client.flushall();
  }

  close() {
    this.#client.disconnect();
  }
}

function callsOf(statistics) {
  return Number(/calls=(\d+)/.exec(statistics ?? '')?.[1] ?? 0);
}
