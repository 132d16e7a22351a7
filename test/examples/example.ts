import { expect } from '@jest/globals';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConsoleProcess } from '../support/console-process.js';
import { eventually } from '../support/eventually.js';

const ROOT = new URL('../../', import.meta.url);
const COMMAND = fileURLToPath(new URL('scripts/example.mjs', ROOT));
const PATIENCE = { withinMs: 30_000 };

/** Two runs differ in these: the process that acquires first, ports and times. */
const comparable = (text: string) =>
  text
    .replace(/\b(one|two|java|node|pod-\d)\b/g, 'INSTANCE')
    .replace(/:\d{4,5}\b/g, ':PORT')
    .replace(/\d\d:\d\d:\d\d/g, 'TIME');

/** `npm run example -- NAME` in a terminal. It and all that it starts share a folder for temporary files. */
export class Example extends ConsoleProcess {
  static async start(name: string, environment: NodeJS.ProcessEnv = {}): Promise<Example> {
    const folder = await mkdtemp(join(tmpdir(), 'example-'));
    // Postgres may run as another user.
    await chmod(folder, 0o755);
    return new Example(name, folder, environment);
  }

  private constructor(
    readonly name: string,
    private readonly folder: string,
    environment: NodeJS.ProcessEnv,
  ) {
    const env = { ...environment, TMPDIR: folder, npm_lifecycle_event: 'example' };
    super(COMMAND, [name], env, { detached: true });
  }

  /** Each line that the README promises is there. */
  async keepsPromises(): Promise<void> {
    const page = await readFile(new URL(`examples/${this.name}/README.md`, ROOT), 'utf8');
    const [, shown = ''] = /^```text\n(.*?)^```$/ms.exec(page) ?? [];
    const promises = comparable(shown).trim().split('\n');
    expect(promises.length).toBeGreaterThan(2);
    const patterns = promises.map((line) => {
      const parts = line.split('…').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
      return new RegExp(`^${parts.join('.*')}$`, 'm');
    });
    await eventually(() => {
      const output = comparable(this.stdout);
      expect(promises.filter((_, i) => !patterns[i]?.test(output))).toEqual([]);
    }, PATIENCE);
  }

  /** Waits until `count` lines of the output match, and returns what the pattern captures. */
  finds(pattern: RegExp, count: number): Promise<string[]> {
    return eventually(() => {
      // The last one may not be whole yet.
      const lines = this.stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => pattern.exec(line));
      const found = lines.flatMap((match) => (match === null ? [] : [match[1] ?? match[0]]));
      if (found.length < count)
        throw new Error(`not ${count} lines:\n${this.stdout}${this.stderr}`);
      return found;
    }, PATIENCE);
  }

  /** At Ctrl-C, and with nothing left. */
  async endsCleanly(end = this.ctrlC()): Promise<void> {
    expect(await end).toBe(0);
    // The command itself may say what takes time, and cron that the machine was late.
    expect(this.stderr).not.toMatch(/^\[(?!.*Missed execution deadline)/m);
    await this.leavesNothing();
  }

  /** No process, no server and no file of it is left. */
  async leavesNothing(): Promise<void> {
    await eventually(async () => {
      expect(await this.processes()).toEqual([]);
      expect(await readdir(this.folder)).toEqual([]);
    }, PATIENCE);
    await rm(this.folder, { recursive: true });
  }

  /** The processes that it has started, by their command lines; where there is a /proc. */
  async processes(): Promise<string[]> {
    const pids = await readdir('/proc').catch(() => []);
    const read = (pid: string, file: string) =>
      readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
    const found = await Promise.all(
      pids
        .filter((pid) => /^\d+$/.test(pid))
        .map(async (pid) => {
          const isOurs = (await read(pid, 'environ')).includes(`TMPDIR=${this.folder}\0`);
          return isOurs ? [(await read(pid, 'cmdline')).replaceAll('\0', ' ')] : [];
        }),
    );
    return found.flat();
  }
}
