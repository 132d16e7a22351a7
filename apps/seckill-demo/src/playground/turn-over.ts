/** Browsers run a message after all microtasks, as Node does with an immediate. */
function byMessages(): () => Promise<void> {
  const { port1, port2 } = new MessageChannel();
  const waiting: (() => void)[] = [];
  port1.onmessage = () => waiting.shift()?.();
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      port2.postMessage(null);
    });
}

/** The end of a turn in a browser. Undefined in Node, where the world has its own. */
export const turnOver = typeof setImmediate === 'function' ? undefined : byMessages();
