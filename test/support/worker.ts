/**
 * The worker's side of child.ts. A worker is a TypeScript file that ends with `serve(api)` and
 * exports `type Api = typeof api`; what a spec imports from it is that type only.
 */

// A function of the api may have any parameters, and `unknown[]` would refuse them all.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type WorkerApi = Record<string, (...args: any[]) => unknown>;

export type ToWorker =
  { kind: 'call'; id: number; verb: string; args: unknown[] } | { kind: 'end' };

export interface RemoteError {
  name: string;
  message: string;
  code?: unknown;
  stack?: string;
}

export type FromWorker =
  | { kind: 'ready' }
  | { kind: 'result'; id: number; value: unknown }
  | { kind: 'error'; id: number; error: RemoteError }
  | { kind: 'report'; value: unknown }
  | { kind: 'unhandled'; error: RemoteError };

/** Tells the parent something that it did not ask for. */
export function report(value: unknown): void {
  send({ kind: 'report', value });
}

export function serve(api: WorkerApi): void {
  // The parent counts these, so the process goes on as a real one with a logger would.
  process.on('unhandledRejection', (error) => {
    send({ kind: 'unhandled', error: describe(error) });
  });
  const orphaned = () => process.exit(1);
  process.on('disconnect', orphaned);
  process.on('message', (message: ToWorker) => {
    if (message.kind === 'end') {
      // From here on only a leak keeps this process alive.
      process.off('disconnect', orphaned);
      process.disconnect();
      return;
    }
    const { id, verb, args } = message;
    Promise.resolve()
      .then(() => {
        const action = api[verb];
        if (!action) throw new Error(`The worker has no "${verb}"`);
        return action(...args);
      })
      .then(
        (value) => {
          send({ kind: 'result', id, value });
        },
        (error: unknown) => {
          send({ kind: 'error', id, error: describe(error) });
        },
      );
  });
  send({ kind: 'ready' });
}

function send(message: FromWorker): void {
  if (process.connected) process.send?.(message);
}

function describe(error: unknown): RemoteError {
  if (typeof error !== 'object' || error === null) return { name: 'Error', message: String(error) };
  const { name = 'Error', message = 'thrown without a message' } = error as Partial<RemoteError>;
  const { code, stack } = error as Partial<RemoteError>;
  return { name, message, code, ...(stack !== undefined && { stack }) };
}
