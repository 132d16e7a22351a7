import { applyDecorators } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { ApiLockResponses } from 'nestjs-redis-lock/swagger';
import type { z } from 'zod';

// The decorators of Swagger are not in the controllers: processes that only measure would load it.

/** A value, in its JSON form. */
type Json<T> = T extends Date ? string : T extends object ? { [K in keyof T]: Json<T[K]> } : T;

export interface Route<T> {
  readonly summary: string;
  readonly answer: readonly [status: number, description: string, body: z.ZodType<Json<T>>];
  readonly refusals: Readonly<Record<number, string>>;
  /** Whether the lock library may refuse it, with its own answers. */
  readonly locks?: boolean;
}

type AnswerOf<Handler> = Handler extends (...parameters: never[]) => infer T ? Awaited<T> : never;

/** Every public method of a controller is a route. */
export type Routes<C> = { readonly [Name in keyof C]: Route<AnswerOf<C[Name]>> };

const ERROR_BODY = {
  type: 'object',
  required: ['message', 'error', 'statusCode'],
  properties: {
    message: {
      oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
      description: 'A list if the input was wrong',
    },
    error: { type: 'string' },
    statusCode: { type: 'integer' },
  },
};

/** Swagger does not read the schemas that check the input of a route, so the route passes them here. */
export function describe<C>(controller: Type<C>, tag: string, routes: Routes<C>): void {
  const prototype = controller.prototype as object;
  ApiTags(tag)(controller);
  for (const [name, route] of Object.entries<Route<unknown>>(routes)) {
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
    if (descriptor === undefined) throw new Error(`${controller.name} has no route ${name}`);
    decorate(route)(prototype, name, descriptor);
  }
}

function decorate({ summary, answer, refusals, locks = false }: Route<unknown>) {
  const [status, description, body] = answer;
  return applyDecorators(
    ApiOperation({ summary }),
    ApiResponse({ status, description, standardSchema: body }),
    ...Object.entries(refusals).map(([refusal, reason]) =>
      ApiResponse({ status: Number(refusal), description: reason, schema: ERROR_BODY }),
    ),
    ...(locks ? [ApiLockResponses()] : []),
  );
}
