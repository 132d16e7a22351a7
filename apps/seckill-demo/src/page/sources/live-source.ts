import type { Step } from '../../arena/step.js';
import { store } from '../store.js';
import { connection } from './connection.js';

/** The steps of the arena that serves this page. The browser itself resumes a broken stream. */
export function followArena(token: string): void {
  const stream = new EventSource(`./steps?token=${encodeURIComponent(token)}`);
  stream.onopen = () => {
    connection.set('live');
  };
  stream.onmessage = ({ data }: MessageEvent<string>) => {
    store.add(JSON.parse(data) as Step[]);
  };
  stream.onerror = () => {
    connection.set(stream.readyState === EventSource.CLOSED ? 'closed' : 'broken');
  };
}
