import {
  Client,
  credentials,
  ServerCredentials,
  type MethodDefinition,
  type Server,
} from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';
import type { INestApplication } from '@nestjs/common';
import { Transport, type GrpcOptions } from '@nestjs/microservices';

export interface Item {
  readonly id: number;
}

export interface GrpcClient {
  /**
   * Calls a method with these messages. Resolves with the texts of its answers, or rejects with the
   * error of the call, as a `ServiceError` with its code and metadata.
   */
  call(method: string, messages: Iterable<Item> | AsyncIterable<Item>): Promise<string[]>;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as the proto loader has it
type Method = MethodDefinition<any, any>;

/** Which side of a method sends several messages. */
export type GrpcStreams = 'neither' | 'client' | 'server' | 'both';

/**
 * Lets the controllers of an application answer gRPC calls, by `@GrpcMethod('Shop', 'sell')` and the
 * like. Requests are items; answers are of the form `{ text: string }`.
 */
export async function serveGrpc(
  nest: INestApplication,
  methods: Readonly<Record<string, GrpcStreams>>,
): Promise<GrpcClient> {
  const packageDefinition = fromJSON(definitionOf(methods), { defaults: true });
  let port = 0;
  const listening = new Promise<void>((resolve, reject) => {
    const options: GrpcOptions['options'] = {
      package: 'shop',
      packageDefinition,
      url: '127.0.0.1:0',
      // Nest does not tell its own port.
      onLoadPackageDefinition(_, server: Server) {
        const insecure = ServerCredentials.createInsecure();
        server.bindAsync('127.0.0.1:0', insecure, (error, bound) => {
          port = bound;
          if (error === null) resolve();
          else reject(error);
        });
      },
    };
    nest.connectMicroservice({ transport: Transport.GRPC, options }, { inheritAppConfig: true });
  });
  await nest.startAllMicroservices();
  await listening;
  const service = packageDefinition['shop.Shop'] as Readonly<Record<string, Method>>;
  return {
    call: async (name, messages) => {
      const method = service[name];
      if (method === undefined) throw new Error(`No method ${name}`);
      return call(`127.0.0.1:${String(port)}`, method, messages);
    },
  };
}

function definitionOf(methods: Readonly<Record<string, GrpcStreams>>) {
  const entries = Object.entries(methods).map(([name, streams]) => [
    name,
    {
      ...{ requestType: 'Item', responseType: 'Answer' },
      requestStream: streams === 'client' || streams === 'both',
      responseStream: streams === 'server' || streams === 'both',
    },
  ]);
  const shop = {
    Shop: { methods: Object.fromEntries(entries) as Record<string, never> },
    Item: { fields: { id: { type: 'int32', id: 1 } } },
    Answer: { fields: { text: { type: 'string', id: 1 } } },
  };
  return { nested: { shop: { nested: shop } } };
}

/** On the wire, every call is a stream on both sides. */
async function call(
  address: string,
  { path, requestSerialize, responseDeserialize }: Method,
  messages: Iterable<Item> | AsyncIterable<Item>,
): Promise<string[]> {
  const client = new Client(address, credentials.createInsecure());
  try {
    const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
    const texts: string[] = [];
    const ended = new Promise((resolve, reject) => {
      stream.on('data', ({ text }: { text: string }) => texts.push(text));
      stream.on('end', resolve).on('error', reject);
    });
    const send = async () => {
      for await (const message of messages) stream.write(message);
      stream.end();
    };
    await Promise.all([ended, send()]);
    return texts;
  } finally {
    client.close();
  }
}
