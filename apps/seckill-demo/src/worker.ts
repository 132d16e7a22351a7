import { ControlledGate } from './arena/controlled-gate.js';
import { NoteBook } from './arena/note-book.js';
import type { FromWorker, ToWorker } from './arena/worker-messages.js';
import { createHttpApp } from './http-app.js';
import { QUIET_LOG, tutorialLog } from './seckill/sale-log.js';
import { settingsFrom } from './settings.js';

// One process of a fleet, forked by the arena. When the arena dies the channel closes, and
// node:cluster ends a worker whose channel closed.

const tell = (message: FromWorker): void => {
  if (process.connected) process.send?.(message);
};

// Ctrl-C reaches the whole process group; the arena decides when its workers stop.
process.on('SIGINT', () => undefined);

const notes = new NoteBook((batch) => {
  tell({ kind: 'noted', notes: batch });
});
const gate = new ControlledGate(
  (point) => {
    notes.flush();
    tell({ kind: 'held', point });
  },
  (point) => {
    notes.passed(point);
  },
);
// Closed before the process is ready: the arena shows that buyers wait for every process.
if (process.env['SECKILL_COLD'] === '1') gate.close('warm-up', 1);
const saleLog =
  process.env['SECKILL_TUTORIAL'] === '1'
    ? tutorialLog((line) => {
        tell({ kind: 'line', line });
      })
    : QUIET_LOG;

/** No timer and no answer of Redis runs meanwhile. */
function block(ms: number): void {
  const until = Date.now() + ms;
  while (Date.now() < until);
}

try {
  const settings = settingsFrom(process.env);
  const app = await createHttpApp(settings, { gate, saleLog });
  const stop = async (): Promise<void> => {
    // The arena has to know all that this process has seen.
    notes.flush();
    await app.close();
    process.exit(0);
  };
  process.on('message', (message: ToWorker) => {
    switch (message.kind) {
      case 'close':
        gate.close(message.point, message.count);
        tell({ kind: 'closed', point: message.point });
        break;
      case 'open':
        gate.open(message.point);
        break;
      case 'block':
        notes.tellAll();
        block(message.ms);
        break;
      case 'flush':
        notes.tellAll();
        tell({ kind: 'flushed' });
        break;
      case 'stop':
        void stop();
        break;
    }
  });
  process.once('SIGTERM', () => void stop());
  await app.listen(settings.port, '127.0.0.1');
  tell({ kind: 'serving' });
} catch (error) {
  const { message, code } = error as NodeJS.ErrnoException;
  tell({ kind: 'failed', message, portTaken: code === 'EADDRINUSE' });
  process.exitCode = 1;
  process.disconnect();
}
