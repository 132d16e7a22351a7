import { isCluster, mastersOf, type Client, type NodeClient } from '../connection/client.js';
import { isReply } from '../connection/reply-error.js';
import type { Server } from '../connection/cli-target.js';
import { ask, textOf, UnreachableError, within } from './answers.js';

const CONNECT_MS = 3_000;

type Connectable = Pick<Server, 'name' | 'client'>;

export interface Node {
  /** Its address, without user and password. */
  readonly name: string;
  readonly client: NodeClient;
}

/** The known masters. */
export function nodesOf({ name, client }: Connectable): Node[] {
  return mastersOf(client).map((node) => ({
    name: isCluster(client) ? node.address : name,
    client: node,
  }));
}

/**
 * Resolves when the server has answered.
 * @throws {UnreachableError} it did not answer in a few seconds
 * @throws {ReplyError} it refuses every client, or this user
 */
export async function connect({ name, client }: Connectable): Promise<void> {
  let trouble: unknown;
  const onTrouble = (error: unknown) => {
    trouble = deepest(error);
  };
  client.on('failed', onTrouble);
  try {
    await within(CONNECT_MS + 500, `the connection to ${name}`, client.connect());
    const answer = await ask(client, 'ping');
    if ('refusal' in answer && !answer.refusal.startsWith('NOPERM')) {
      throw Object.assign(new Error(answer.refusal), { name: 'ReplyError' });
    }
    await selectDatabase(client);
    // ioredis 5 reports itself ready before AUTH is refused; then the default user answered.
    if (isReply(trouble)) throw trouble;
  } catch (error) {
    const reason = trouble ?? deepest(error);
    if (isReply(reason)) throw reason;
    if (error instanceof UnreachableError && trouble === undefined) throw error;
    throw new UnreachableError(`no connection to ${name}: ${textOf(reason)}`);
  }
}

/** ioredis continues in database 0 when Redis refuses another one. */
async function selectDatabase(client: Client): Promise<void> {
  if (!isCluster(client) && client.database !== 0) await client.select(client.database);
}

/** A client of a Cluster wraps the error of a node several times. */
function deepest(error: unknown): unknown {
  if (!(error instanceof Object)) return error;
  const { lastNodeError } = error as { lastNodeError?: unknown };
  return lastNodeError === undefined ? error : deepest(lastNodeError);
}
