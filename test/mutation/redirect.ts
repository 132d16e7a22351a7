import { register } from 'node:module';

/** A spec imports Jest and servers; here it finds the harness and servers in process. */
export function redirect(): void {
  // A case that fails may leave calls behind.
  process.on('unhandledRejection', () => undefined).on('uncaughtException', () => undefined);
  const to = (name: string) => new URL(`./${name}.js`, import.meta.url).href;
  const hook = `export async function resolve(specifier, context, next) {
    if (specifier === '@jest/globals') return { url: '${to('harness')}', shortCircuit: true };
    const found = await next(specifier, context);
    const isServer = found.url.endsWith('/test/support/redis-server.js');
    return isServer && context.parentURL !== '${to('in-process')}' ? { ...found, url: '${to('in-process')}' } : found;
  }`;
  register(`data:text/javascript,${encodeURIComponent(hook)}`);
}
