import { describe, expect, it } from '@jest/globals';
import {
  Controller,
  Module,
  UseFilters,
  type ExecutionContext,
  type INestApplication,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  ClientProxyFactory,
  EventPattern,
  MessagePattern,
  Payload,
  RpcException,
  Transport,
} from '@nestjs/microservices';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { WsAdapter } from '@nestjs/platform-ws';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { CurrentLock, LockExceptionFilter, RedisLockModule, WithLock } from 'nestjs-redis-lock';
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { lastValueFrom } from 'rxjs';
import { io } from 'socket.io-client';
import { WebSocket } from 'ws';
import { eventually, redisson, useRealRedis } from '../../support/set-up.js';
import { SILENT, useApplications } from '../applications.js';

const redis = useRealRedis();
const apps = useApplications(redis);

const events: string[] = [];

/** The filter of the library sends this for a busy lock. */
const busy = {
  message: 'Another request is using this; try again later',
  code: 'LOCK_TIMEOUT',
  retryAfterMs: expect.any(Number) as unknown,
};

@Controller()
class Messages {
  @MessagePattern('sell')
  @WithLock('product_<id>')
  async sell(@Payload('id') id: number): Promise<string> {
    return CurrentLock.lease().name;
  }

  @WithLock(
    (context: ExecutionContext) =>
      `product_${String(context.switchToRpc().getData<{ id: number }>().id)}`,
    { via: 'interceptor' },
  )
  @MessagePattern('reserve')
  async reserve(): Promise<string> {
    return CurrentLock.lease().name;
  }

  @MessagePattern('busy')
  @WithLock('busy_<id>', { waitTimeMs: 0 })
  async busy(@Payload('id') id: number): Promise<number> {
    return id;
  }

  @MessagePattern('told')
  @WithLock('busy_<id>', {
    waitTimeMs: 0,
    onBusy: (_, { code, retryAfterMs }) => {
      throw new RpcException({ code, retryAfterMs });
    },
  })
  async told(@Payload('id') id: number): Promise<number> {
    return id;
  }

  @UseFilters(LockExceptionFilter)
  @MessagePattern('filtered')
  @WithLock('busy_<id>', { waitTimeMs: 0 })
  async filtered(@Payload('id') id: number): Promise<number> {
    return id;
  }

  @WithLock('busy_<id>', { waitTimeMs: 0 })
  @EventPattern('sold')
  async sold(@Payload('id') id: number): Promise<void> {
    events.push(`${CurrentLock.lease().name} ${String(id)}`);
    await Promise.resolve();
  }
}

@WebSocketGateway()
class Gateway {
  @SubscribeMessage('sell')
  @WithLock('product_<id>')
  async sell(@MessageBody('id') id: number): Promise<string> {
    return CurrentLock.lease().name;
  }

  @WithLock(
    (context: ExecutionContext) =>
      `product_${String(context.switchToWs().getData<{ id: number }>().id)}`,
    { via: 'interceptor' },
  )
  @SubscribeMessage('reserve')
  async reserve(): Promise<string> {
    return CurrentLock.lease().name;
  }

  @SubscribeMessage('busy')
  @WithLock('busy_<id>', { waitTimeMs: 0 })
  async busy(@MessageBody('id') id: number): Promise<number> {
    return id;
  }

  @UseFilters(LockExceptionFilter)
  @SubscribeMessage('told')
  @WithLock('busy_<id>', { waitTimeMs: 0 })
  async told(@MessageBody('id') id: number): Promise<number> {
    return id;
  }
}

@Module({})
class App {}

type Adapter = new (app: INestApplication) => WsAdapter | IoAdapter;

async function start(Sockets: Adapter = WsAdapter) {
  const metadata = {
    module: App,
    imports: [RedisLockModule.forRoot({ connection: redis.connection })],
    controllers: [Messages],
    providers: [Gateway],
  };
  const nest = await NestFactory.create(metadata, SILENT);
  nest.useWebSocketAdapter(new Sockets(nest));
  const options = { host: '127.0.0.1', port: 0 };
  const service = nest.connectMicroservice({ transport: Transport.TCP, options });
  await nest.startAllMicroservices();
  const app = await apps.add(nest);
  const { port } = service.unwrap<Server>().address() as AddressInfo;
  return { url: app.url.replace('http', 'ws'), options: { ...options, port } };
}

/** Sends messages to a gateway, and resolves with what comes back. */
interface Client {
  send(event: string, id: number): Promise<unknown>;
  close(): unknown;
}

async function byWs(url: string): Promise<Client> {
  const socket = new WebSocket(url);
  await once(socket, 'open');
  return {
    async send(event, id) {
      const answered = once(socket, 'message');
      socket.send(JSON.stringify({ event, data: { id } }));
      const [text] = (await answered) as [Buffer];
      return JSON.parse(text.toString()) as unknown;
    },
    close: () => {
      socket.close();
    },
  };
}

async function bySocketIo(url: string): Promise<Client> {
  const socket = io(url, { transports: ['websocket'], reconnection: false });
  const received = (event: string) =>
    new Promise<unknown>((resolve) => {
      socket.once(event, resolve);
    });
  await received('connect');
  return {
    // Nest acknowledges what a handler returns. A message that fails is not acknowledged.
    send: (event, id) =>
      Promise.race([
        socket.emitWithAck(event, { id }),
        received('exception').then((data) => ({ event: 'exception', data })),
      ]),
    close: () => socket.disconnect(),
  };
}

describe('a microservice over TCP', () => {
  it('takes locks for its messages and events, and its errors arrive as those of RPC', async () => {
    const { options } = await start();
    const client = ClientProxyFactory.create({ transport: Transport.TCP, options });
    const send = (pattern: string, id: number) =>
      lastValueFrom(client.send<unknown>(pattern, { id }));
    expect(await send('sell', 7)).toBe('product_7');
    expect(await send('reserve', 7)).toBe('product_7');

    await redisson.tryLock(redis.admin, 'busy_7', 20_000);
    await expect(send('busy', 7)).rejects.toEqual({
      status: 'error',
      message: 'Internal server error',
    });
    await expect(send('told', 7)).rejects.toEqual({
      code: 'LOCK_TIMEOUT',
      retryAfterMs: expect.any(Number),
    });
    await expect(send('filtered', 7)).rejects.toEqual({ status: 'error', ...busy });
    expect(await send('told', 8)).toBe(8);

    // The client gets no error when the first event is lost.
    for (const id of [7, 8]) await lastValueFrom(client.emit('sold', { id }), { defaultValue: 0 });
    await eventually(() => {
      expect(events).toEqual(['busy_8 8']);
    });
    await client.close();
  });
});

describe.each<[string, Adapter, (url: string) => Promise<Client>]>([
  ['ws', WsAdapter, byWs],
  ['socket.io', IoAdapter, bySocketIo],
])('a gateway of %s', (_, Sockets, connect) => {
  it('takes locks for its messages, and its filters are its own', async () => {
    const client = await connect((await start(Sockets)).url);
    expect(await client.send('sell', 7)).toBe('product_7');
    expect(await client.send('reserve', 7)).toBe('product_7');

    await redisson.tryLock(redis.admin, 'busy_7', 20_000);
    expect(await client.send('busy', 7)).toMatchObject({
      event: 'exception',
      data: { status: 'error', message: 'Internal server error' },
    });
    expect(await client.send('told', 7)).toEqual({
      event: 'exception',
      data: { status: 'error', ...busy },
    });
    expect(await client.send('told', 8)).toBe(8);
    client.close();
  });
});
