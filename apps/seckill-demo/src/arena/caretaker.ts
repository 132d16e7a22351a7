import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

export type FreezeNote = `frozen ${number}` | `thawed ${number}`;

const PROGRAM = fileURLToPath(new URL('../caretaker-process.js', import.meta.url));

/**
 * A process beside the arena that holds a pipe from it. The arena may end without a goodbye, by
 * SIGKILL for example. Then the caretaker thaws frozen processes, which cannot see that their
 * parent died. It also removes what was written to servers that are not ours.
 */
export class Caretaker {
  readonly #child: ChildProcessByStdio<Writable, null, null>;

  constructor(environment: NodeJS.ProcessEnv) {
    this.#child = spawn(process.execPath, [PROGRAM], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
      env: { ...process.env, ...environment },
    });
    this.#child.on('error', () => undefined);
    this.#child.stdin.on('error', () => undefined);
    this.#child.unref();
  }

  tell(note: FreezeNote): void {
    this.#child.stdin.write(`${note}\n`);
  }

  /** Resolves when the caretaker has gone, so that no process is left behind. */
  dismiss(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#child.exitCode !== null) {
        resolve();
        return;
      }
      this.#child.ref();
      this.#child.once('exit', () => {
        resolve();
      });
      this.#child.stdin.end('done\n');
    });
  }
}
