/** The specs use these parts of ws: a client, since Node 20 has none of its own. */
declare module 'ws' {
  import type { EventEmitter } from 'node:events';

  export class WebSocket extends EventEmitter {
    constructor(url: string);
    send(text: string): void;
    close(): void;
  }
}
