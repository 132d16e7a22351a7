import { compiled } from '../../scripts/compile.mjs';
import { ConsoleProcess } from '../support/console-process.js';

const DEMO = compiled(new URL('demo-main.ts', import.meta.url));

/** `npm run demo` without the build: the sources as they are. */
export class DemoProcess extends ConsoleProcess {
  static start(args: readonly string[], environment: NodeJS.ProcessEnv = {}): DemoProcess {
    return new DemoProcess(DEMO, args, environment);
  }
}
