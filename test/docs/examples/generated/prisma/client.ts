import * as runtime from '@prisma/client/runtime/client';

/**
 * What `prisma generate` of version 7.10 writes for this model, without the types and calls that the
 * recipe does not use. The command downloads a program, so it cannot run where only the registry of
 * npm is reachable. The runtime, the query compiler and the database are the real ones.
 */
const inlineSchema = `
generator client {
  provider = "prisma-client"
  output   = "../generated/prisma"
}

datasource db {
  provider = "postgresql"
}

model Product {
  sku    String @id
  pieces Int

  @@map("product")
}
`;
const runtimeDataModel =
  '{"models":{"Product":{"fields":[{"name":"sku","kind":"scalar","type":"String"},' +
  '{"name":"pieces","kind":"scalar","type":"Int"}],"dbName":"product","schema":null}},' +
  '"enums":{},"types":{}}';

type Compiler = NonNullable<runtime.GetPrismaClientConfig['compilerWasm']>;

/** These files have no types. */
const load = (end: string) =>
  import(`@prisma/client/runtime/query_compiler_fast_bg.postgresql.${end}`) as Promise<
    Awaited<ReturnType<Compiler['getRuntime']>> & { wasm: string }
  >;

const config: runtime.GetPrismaClientConfig = {
  previewFeatures: [],
  clientVersion: '7.10.0',
  engineVersion: '',
  activeProvider: 'postgresql',
  inlineSchema,
  runtimeDataModel: JSON.parse(runtimeDataModel) as runtime.RuntimeDataModel,
  parameterizationSchema: { strings: [], graph: 'AAAAAAAA' },
  compilerWasm: {
    getRuntime: () => load('mjs'),
    getQueryCompilerWasmModule: async () =>
      new WebAssembly.Module(Buffer.from((await load('wasm-base64.mjs')).wasm, 'base64')),
    importName: './query_compiler_fast_bg.js',
  },
};

interface Product {
  sku: string;
  pieces: number;
}
interface ProductDelegate {
  findUniqueOrThrow(args: { where: { sku: string } }): Promise<Product>;
  update(args: { where: { sku: string }; data: Partial<Product> }): Promise<Product>;
}
export interface PrismaClient {
  readonly product: ProductDelegate;
  $transaction<R>(
    work: (tx: Omit<PrismaClient, runtime.ITXClientDenyList>) => Promise<R>,
    options?: { maxWait?: number; timeout?: number },
  ): Promise<R>;
  $disconnect(): Promise<void>;
}

type Options = Pick<runtime.PrismaClientOptions, 'adapter'>;
export const PrismaClient = runtime.getPrismaClient(config) as unknown as new (
  options: Options,
) => PrismaClient;
