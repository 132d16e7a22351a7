import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

export type FreezeNote = `frozen ${number}` | `thawed ${number}`;

const PROGRAM = fileURLToPath(new URL('../caretaker-process.js', import.meta.url));

/**
 * A process beside the arena, connected by a pipe. The arena may end without clean-up, for example
 * by SIGKILL. Then the caretaker thaws frozen processes, which cannot notice that their parent
 * died. It also removes the data of this run from the user's servers.
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

  /** Resolves when the caretaker has exited, so that no process stays behind. */
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
