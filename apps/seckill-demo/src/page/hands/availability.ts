import type { CommandKind, CommandRefusal } from '../../arena/step.js';
import type { ConnectionState } from '../sources/connection.js';
import type { PageState } from '../state.js';

/** Why a visitor may not give a command now. */
export type Obstacle = CommandRefusal | 'recorded' | 'offline' | 'no-token' | 'redis-paused';

export function obstacleTo(
  command: CommandKind,
  { run, tookMs, sale }: PageState,
  connection: ConnectionState,
): Obstacle | undefined {
  if (connection === 'recorded' || connection === 'missing') return 'recorded';
  if (connection === 'no-token') return 'no-token';
  if (connection !== 'live') return 'offline';
  if (command === 'skip') return run !== undefined && tookMs === undefined ? undefined : 'not-open';
  if (sale.opened === undefined) return 'not-open';
  const forbidden = sale.opened.forbidden[command];
  if (forbidden !== undefined) return forbidden;
  return sale.redis === 'paused' && command.startsWith('redis-') ? 'redis-paused' : undefined;
}
