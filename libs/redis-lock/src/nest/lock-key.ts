import { describeValue, LockConfigurationError, quoteName } from '../core/api/errors.js';
import {
  compileTemplate,
  type Placeholder,
  type Source,
  refuseLookAlikes,
} from './key-template.js';

const LOCK_KEYS = Symbol.for('nestjs-redis-lock:lock-keys');

/** Nest's own metadata keys, as values: no import of Nest's internals. */
const NEST_ARGUMENTS = '__routeArguments__';
const PARAMETER_TYPES = 'design:paramtypes';

/** The argument 0 of Nest's types for a body, payload or args (3), a query (4) and params (5). */
const FIRST_IS_PART = /^[345]:0$/;

/** Names that a template for a request gives to its parts. */
const PARTS: readonly string[] = ['body', 'query', 'params', 'payload', 'args'];

type Arguments = readonly unknown[];

interface NamedParameter {
  readonly index: number;
  readonly name: string;
}

/** A method as decorators see it, while its class is being defined. */
export interface DecoratedMethod {
  /** The prototype that has it. */
  readonly target: object;
  readonly property: string | symbol;
}

/**
 * Names a parameter for `@WithLock`: its argument fills the placeholder `<name>`, or has the
 * property of `<name.property>`.
 * @throws {LockConfigurationError} when the class is defined: the name cannot be a placeholder
 */
export function LockKey(name: string): ParameterDecorator {
  return (target, property, index) => {
    if (typeof name !== 'string' || !/^(?!\d+$)[^\s.<>]+$/.test(name)) {
      throw new LockConfigurationError(
        '@LockKey needs a name such as "id", without dots, spaces and angle brackets, ' +
          `not ${describeValue(name)}`,
      );
    }
    if (property === undefined) {
      throw new LockConfigurationError(
        `@LockKey(${quoteName(name)}) belongs to a parameter of a method, not of a constructor`,
      );
    }
    const others = lockKeysOf({ target, property });
    Reflect.defineMetadata(LOCK_KEYS, [...others, { index, name }], target, property);
  };
}

/**
 * The function that makes the lock name from the arguments of a call. All parameter decorators of a
 * method have run when a decorator of the method calls this.
 * @throws {LockConfigurationError} no parameter or several stand for a placeholder, or a text only
 * looks like a placeholder
 */
export function nameFromArguments(
  template: string,
  where: string,
  method: DecoratedMethod,
): (args: Arguments) => string {
  if (hasParameters(method)) {
    const names = [...lockKeysOf(method), ...nestNamesOf(method)].map(({ name }) => name);
    const literally = `a function, () => ${quoteName(template)}`;
    refuseLookAlikes(template, where, { names, literally });
  }
  return compileTemplate(template, where, (placeholder) => sourceOf(placeholder, where, method));
}

function sourceOf(
  placeholder: Placeholder,
  where: string,
  method: DecoratedMethod,
): Source<Arguments> {
  const { head, path } = placeholder;
  const argument = (index: number): Source<Arguments> => ({
    start: `argument ${String(index)}`,
    read: (args) => args[index],
    path,
  });
  const types = typesOf(method);
  const named = [...lockKeysOf(method), ...nestNamesOf(method)].filter(({ name }) => name === head);
  const [index, ...others] = new Set(named.map((parameter) => parameter.index));
  if (others.length > 0) throw unclear(`several parameters are named "${head}"`);
  if (index !== undefined) return argument(index);

  if (/^\d+$/.test(head)) {
    const position = Number(head);
    const count = types?.length ?? Infinity;
    if (position < count) return argument(position);
    throw unclear(`there is no parameter ${head}`);
  }
  if (isOnlyObject(types)) {
    if (PARTS.includes(head) && isPartOfRequest(method)) refusePart(placeholder, where);
    return { ...argument(0), path: [head, ...path] };
  }
  throw unclear('no parameter has that name');

  function unclear(why: string): LockConfigurationError {
    return new LockConfigurationError(
      `${where}: <${placeholder.text}> cannot be filled: ${why}. Found ${described(method)}. ` +
        'Put @LockKey("…") on one parameter, use its position as in <0>, ' +
        'or make the key a function (...args) => string',
    );
  }
}

/** Parameters with a default value count where the compiler emits types. */
function hasParameters(method: DecoratedMethod): boolean {
  const declared: unknown = Reflect.get(method.target, method.property);
  const count = typeof declared === 'function' ? declared.length : 0;
  return count > 0 || (typesOf(method)?.length ?? 0) > 0;
}

/** Whether the only parameter has a type whose properties can fill placeholders. */
function isOnlyObject(types: Arguments | undefined): boolean {
  if (types?.length !== 1) return false;
  const [type] = types;
  return type !== String && type !== Number && type !== Boolean && type !== Array;
}

/** Whether Nest makes the first argument from a whole part, as in `@Body() order`. */
function isPartOfRequest(method: DecoratedMethod): boolean {
  return nestArgumentsOf(method).some(
    ([key, { data }]) => FIRST_IS_PART.test(key) && typeof data !== 'string',
  );
}

/** The argument is that part: as its property, the name would fail in every request. */
function refusePart({ text, head, path }: Placeholder, where: string): never {
  const own = path.join('.');
  const isOfHttp = head !== 'payload' && head !== 'args';
  const ways = [
    ...(own === '' ? [] : [`write <${own}> or <0.${own}>`]),
    ...(own !== '' && isOfHttp ? [`keep <${text}> and set via: 'interceptor'`] : []),
    `write <0.${text}> if the parameter has a property "${head}"`,
  ];
  throw new LockConfigurationError(
    `${where}: <${text}> would be read from the only parameter, which is itself a part of the ` +
      `request; ${ways.join(', or ')}`,
  );
}

/** Undefined when the compiler emits no types. */
function typesOf({ target, property }: DecoratedMethod): Arguments | undefined {
  const types: unknown = Reflect.getOwnMetadata(PARAMETER_TYPES, target, property);
  return Array.isArray(types) ? types : undefined;
}

function lockKeysOf({ target, property }: DecoratedMethod): readonly NamedParameter[] {
  const named: unknown = Reflect.getOwnMetadata(LOCK_KEYS, target, property);
  return Array.isArray(named) ? (named as NamedParameter[]) : [];
}

/**
 * The names in `@Param('id')`, `@Body('id')`, `@Payload('id')`, `@Args('id')` and the like.
 * Inherited names count, as when Nest calls an overriding method.
 */
function nestNamesOf(method: DecoratedMethod): NamedParameter[] {
  return nestArgumentsOf(method).flatMap(([, { index, data }]) =>
    typeof index === 'number' && typeof data === 'string' ? [{ index, name: data }] : [],
  );
}

/** The keys are `<type>:<index>`. */
function nestArgumentsOf({ target, property }: DecoratedMethod) {
  const entries: unknown = Reflect.getMetadata(NEST_ARGUMENTS, target.constructor, property);
  if (typeof entries !== 'object' || entries === null) return [];
  return Object.entries(entries as Record<string, Partial<Record<string, unknown>>>);
}

function described(method: DecoratedMethod): string {
  const types = typesOf(method);
  const names = [...lockKeysOf(method), ...nestNamesOf(method)];
  const count = Math.max(types?.length ?? 0, ...names.map(({ index }) => index + 1));
  if (types?.length === 0) return 'no parameters';
  if (count === 0) return 'no named parameters, and no emitted types (emitDecoratorMetadata)';
  const parameters = Array.from({ length: count }, (_, position) => {
    const named = names.filter(({ index }) => index === position).map(({ name }) => `"${name}"`);
    const as = named.length === 0 ? '' : ` named ${named.join(' and ')}`;
    return `${String(position)}: ${typeName(types?.[position])}${as}`;
  });
  return `the parameters (${parameters.join(', ')})`;
}

function typeName(type: unknown): string {
  return typeof type === 'function' ? type.name : 'unknown';
}
