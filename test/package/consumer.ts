import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { npmCommand } from '../../scripts/npm.mjs';

const run = promisify(execFile);

/**
 * The application of a user: a copy outside of the repository, with the library as it was packed. The
 * application finds no package of ours there.
 */
export class Consumer {
  readonly folder: string;
  readonly #source: string;
  readonly #env: NodeJS.ProcessEnv;

  constructor(name: string, env: Record<string, string>) {
    this.#source = fileURLToPath(new URL(name, import.meta.url));
    this.folder = join(String(process.env.CONSUMERS_FOLDER), name);
    // The process of the application gets no settings of npm and Jest, such as --experimental-vm-modules.
    const own = Object.entries(process.env).filter(([key]) => !/^(npm_|NODE_|JEST_)/i.test(key));
    this.#env = { ...Object.fromEntries(own), FORCE_COLOR: '0', ...env };
  }

  async install(): Promise<void> {
    const isSource = (path: string) => !/[\\/](node_modules|dist)$/.test(path);
    await cp(this.#source, this.folder, { recursive: true, filter: isSource });
    await this.npm('ci', '--prefer-offline');
    // npm refuses it here if its peers are not those of the application.
    await this.npm('install', '--no-save', '--prefer-offline', String(process.env.LIBRARY_TARBALL));
  }

  /** Resolves with what was printed; rejects with it if the command fails. */
  npm(...args: string[]): Promise<Printed> {
    return this.#run(npmCommand(...args));
  }

  /** Runs ES module code as a file of the application would be. */
  async evaluate(code: string): Promise<unknown> {
    const { stdout } = await this.#run([process.execPath, ['--input-type=module', '--eval', code]]);
    return JSON.parse(stdout);
  }

  async start(): Promise<RunningConsumer> {
    const child = spawn(process.execPath, ['dist/main.js'], {
      cwd: this.folder,
      env: this.#env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const app = new RunningConsumer(child);
    await app.listening;
    return app;
  }

  /** A file of the application as it is now, and as it was. */
  async before(file: string): Promise<string> {
    return readFile(join(this.#source, file), 'utf8');
  }

  async after(file: string): Promise<string> {
    return readFile(join(this.folder, file), 'utf8');
  }

  async #run([command, args]: [string, string[]]): Promise<Printed> {
    try {
      return await run(command, args, { cwd: this.folder, env: this.#env, maxBuffer: 2 ** 24 });
    } catch (error) {
      const { stdout, stderr } = error as Printed;
      throw new Error(`${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error });
    }
  }
}

interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

/** The application as a process, by plain Node. */
export class RunningConsumer {
  readonly listening: Promise<void>;
  readonly exited: Promise<unknown[]>;
  readonly #child: ChildProcess;
  #url = '';
  #output = '';

  constructor(child: ChildProcess) {
    this.#child = child;
    this.exited = once(child, 'close');
    this.listening = new Promise((resolve, reject) => {
      const read = (text: string) => {
        this.#output += text;
        this.#url = /^Listening on (\S+)$/m.exec(this.#output)?.[1] ?? '';
        if (this.#url) resolve();
      };
      child.stdout?.setEncoding('utf8').on('data', read);
      child.stderr?.setEncoding('utf8').on('data', read);
      child.once('close', () => {
        reject(new Error(`The application did not start:\n${this.#output}`));
      });
    });
  }

  /** All that it has printed so far. */
  get output(): string {
    return this.#output;
  }

  post(path: string): Promise<Response> {
    return fetch(`${this.#url}${path}`, { method: 'POST' });
  }

  /** Ends the process as its user would; resolves with its code and the signal that ended it. */
  async end(): Promise<unknown[]> {
    this.#child.kill('SIGTERM');
    return this.exited;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
