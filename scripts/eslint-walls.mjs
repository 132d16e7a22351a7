import { posix } from 'node:path';

/**
 * The walls between the rooms of the project. A file belongs to the first room whose `files`
 * matches its path from the root. It may import only paths that `allows` matches. A relative
 * import counts as a path from the root, a package by its name.
 *
 * @typedef {{ files: RegExp, allows: (file: string) => RegExp[], says: string }} Room
 */

const LIB = 'libs/redis-lock/src';
const NODE = /^node:/;
const CORE = new RegExp(`^${LIB}/core/`);
/** The rooms of core, from the lowest up: each may import itself and those before it. */
const FLOORS = ['api/', 'time/', 'redis/', 'session.js', 'holding/', 'waiting/'];
const upTo = (/** @type {number} */ floor) =>
  FLOORS.slice(0, floor + 1).map((room) => new RegExp(`^${LIB}/core/${room}`));
const PRIMITIVES = new RegExp(`^${LIB}/primitives/`);
/** Lua, and steps, of several primitives. */
const SHARED = new RegExp(`^${LIB}/primitives/lua/`);
/** It looks at the locks of all kinds. */
const MONITOR = new RegExp(`^${LIB}/primitives/monitor/`);
/** It knows Redis, and no client of it. */
const CONNECTION = new RegExp(`^${LIB}/connection/`);
const ADAPTER = new RegExp(`^${LIB}/ioredis/`);
/** It has a subpath of its own. */
const NODE_REDIS = new RegExp(`^${LIB}/node-redis/`);
const FAMILY = new RegExp(`^${LIB}/family/`);
const NEST = new RegExp(`^${LIB}/nest/`);
const TESTING = new RegExp(`^${LIB}/testing/`);
/** Redis in process, of the test kit. */
const SERVER = new RegExp(`^${LIB}/testing/server/`);
const CLI = new RegExp(`^${LIB}/cli/`);
/** `check` marks an import of types. */
const TYPES_OF_IOREDIS = /^type ioredis$/;
/** Integrations: each has a subpath of its own, and needs a package that the root must not load. */
const TELEMETRY = { otel: /^@opentelemetry\/api$/, prometheus: /^prom-client$/ };
const OF_NEST = {
  swagger: /^@nestjs\/swagger$/,
  terminus: /^@nestjs\/terminus$/,
  throttler: /^@nestjs\/throttler$/,
};
const integration = (/** @type {string} */ name) => new RegExp(`^${LIB}/integrations/${name}/`);
/** They need no other package. */
const SCRIPTS = new RegExp(`^${LIB}/integrations/[^/]+/[^/]+\\.scripts\\.js$`);
const FRAMEWORK = /^(@nestjs\/(common|core)(\/|$)|rxjs(\/|$)|reflect-metadata$)/;

/** @type {Room[]} */
const ROOMS = [
  ...FLOORS.map((room, floor) => ({
    files: new RegExp(`^${LIB}/core/${room.replace('.js', '.ts')}`),
    allows: () => [NODE, ...upTo(floor)],
    says: `core/${room} imports node:* and the rooms below it only: ${FLOORS.slice(0, floor).join(' ')}`,
  })),
  {
    files: CORE,
    allows: () => [NODE, CORE],
    says: 'core imports node:* and core only',
  },
  {
    files: new RegExp(`^${LIB}/primitives/[^/]+/[^/]+-service\\.ts$`),
    allows: () => [NODE, CORE, PRIMITIVES],
    says: 'a service imports core and primitives only',
  },
  {
    files: MONITOR,
    allows: () => [NODE, CORE, PRIMITIVES],
    says: 'the monitor imports core and primitives only',
  },
  {
    files: PRIMITIVES,
    allows: (file) => [NODE, CORE, SHARED, new RegExp(`^${posix.dirname(file)}/`)],
    says: 'a primitive imports core, primitives/lua and its own folder only',
  },
  {
    files: CONNECTION,
    allows: () => [NODE, ...upTo(FLOORS.indexOf('redis/')), CONNECTION],
    says: 'the connection imports core/api, core/time and core/redis only, and no client',
  },
  {
    files: ADAPTER,
    allows: () => [NODE, ...upTo(FLOORS.indexOf('redis/')), CONNECTION, ADAPTER, TYPES_OF_IOREDIS],
    says: 'the ioredis room imports the rooms below it, and the types of ioredis: it is loaded when it is needed',
  },
  {
    files: NODE_REDIS,
    allows: () => [NODE, ...upTo(FLOORS.indexOf('redis/')), CONNECTION, NODE_REDIS],
    says: 'the node-redis room imports the rooms below it only: its package is loaded when it is needed',
  },
  {
    files: FAMILY,
    allows: () => [NODE, CORE, PRIMITIVES, CONNECTION, ADAPTER, FAMILY],
    says: 'family imports primitives, core, the connection and the ioredis room only, and no framework',
  },
  {
    files: NEST,
    allows: () => [NODE, CORE, PRIMITIVES, FAMILY, NEST, FRAMEWORK],
    says: 'nest imports family, primitives, core and the framework; it does not know ioredis',
  },
  {
    files: new RegExp(`^${LIB}/testing/`),
    allows: () => [NODE, CORE, PRIMITIVES, FAMILY, NEST, SCRIPTS, FRAMEWORK, TESTING],
    says: 'testing imports core, primitives, family, nest, scripts of integrations and the framework only',
  },
  {
    files: new RegExp(`^${LIB}/cli/`),
    allows: () => [NODE, CORE, PRIMITIVES, CONNECTION, ADAPTER, NODE_REDIS, CLI],
    says: 'the command line imports core, primitives, the connection and the rooms of clients only',
  },
  ...Object.entries(TELEMETRY).map(([name, packages]) => ({
    files: integration(name),
    allows: () => [NODE, CORE, FAMILY, packages, integration(name)],
    says: `${name} imports core, family and the package that it is for, and no framework`,
  })),
  ...Object.entries(OF_NEST).map(([name, packages]) => ({
    files: integration(name),
    allows: () => [NODE, CORE, MONITOR, FAMILY, NEST, FRAMEWORK, packages, integration(name)],
    says: `${name} imports core, the monitor, family, nest, the framework and the package that it is for`,
  })),
  {
    files: new RegExp(`^${LIB}/core\\.ts$`),
    allows: () => [CORE, PRIMITIVES, ADAPTER, FAMILY],
    says: 'the surface without Nest exports what the rooms below nest hold',
  },
  {
    files: new RegExp(`^${LIB}/index\\.ts$`),
    allows: () => [new RegExp(`^${LIB}/core\\.js$`), NEST],
    says: 'the public surface exports what the rooms hold, and never what needs another package',
  },
  {
    files: new RegExp(`^${LIB}/node-redis\\.ts$`),
    allows: () => [CONNECTION, NODE_REDIS],
    says: 'the surface of node-redis exports what its own room and the connection hold',
  },
  {
    files: new RegExp(`^${LIB}/`),
    allows: (file) => [integration(posix.basename(file, '.ts')), TESTING],
    says: 'the surface of a subpath exports what its own room holds',
  },
  {
    files: /^libs\/world\//,
    allows: () => [CORE, CONNECTION, SERVER, /^libs\/world\//],
    says: 'the world imports core, the connection and the server in process only',
  },
  {
    files: /^apps\/seckill-demo\/src\/playground\//,
    allows: () => [/^apps\//, /^libs\//],
    says: 'the playground runs the library in a world, and imports nothing but both and the demo',
  },
  {
    files: /^(apps|examples)\//,
    allows: () => [/^(?!libs\/)/],
    says: 'an application knows the library as "nestjs-redis-lock"',
  },
];

/** @type {import('eslint').Rule.RuleModule} */
const rooms = {
  meta: { type: 'problem', schema: [], messages: { wall: '"{{specifier}}": {{says}}.' } },
  create(context) {
    const file = posix.relative(
      context.cwd.replaceAll('\\', '/'),
      context.filename.replaceAll('\\', '/'),
    );
    const room = ROOMS.find(({ files }) => files.test(file));
    if (!room || file.endsWith('.spec.ts')) return {};
    const allowed = room.allows(file);

    /** @param {any} node */
    const check = ({ source, importKind }) => {
      if (typeof source?.value !== 'string') return;
      const specifier = source.value;
      const target = specifier.startsWith('.')
        ? posix.join(posix.dirname(file), specifier)
        : specifier;
      const targets = importKind === 'type' ? [target, `type ${target}`] : [target];
      if (allowed.some((pattern) => targets.some((one) => pattern.test(one)))) return;
      context.report({ node: source, messageId: 'wall', data: { specifier, says: room.says } });
    };
    return {
      ImportDeclaration: check,
      ExportAllDeclaration: check,
      ExportNamedDeclaration: check,
      ImportExpression: check,
      TSImportType: check,
    };
  },
};

export default { rules: { rooms } };
