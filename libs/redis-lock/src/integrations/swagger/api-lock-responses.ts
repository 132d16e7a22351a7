import { applyDecorators } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';

import {
  answersOf,
  reasonOf,
  type LockAnswer,
  type LockExceptionFilterOptions,
} from '../../nest/lock-answers.js';

/** An answer, with the code of its error. */
type CodedAnswer = LockAnswer & { readonly code: string };

/**
 * Documents the answers of `LockExceptionFilter` to requests that may be repeated, for a controller
 * or one method. These are 423 busy, 429 too many and 503 unavailable, each with its body and
 * `Retry-After`.
 * @param options those of the filter
 * @throws {LockConfigurationError} an option is unknown, or its value cannot be used
 */
export function ApiLockResponses(
  options: LockExceptionFilterOptions = {},
): ClassDecorator & MethodDecorator {
  const byStatus = new Map<number, CodedAnswer[]>();
  for (const [code, answer] of Object.entries(answersOf(options, '@ApiLockResponses'))) {
    if (answer.retryAfterS === undefined) continue;
    byStatus.set(answer.status, [...(byStatus.get(answer.status) ?? []), { ...answer, code }]);
  }
  return applyDecorators(...[...byStatus].map(([status, answers]) => responseOf(status, answers)));
}

/** Several codes may have one status. */
function responseOf(
  status: number,
  answers: readonly CodedAnswer[],
): MethodDecorator & ClassDecorator {
  const codes = answers.map(({ code }) => code);
  const waitsS = answers.map(({ retryAfterS }) => retryAfterS);
  const messages = [...new Set(answers.map(({ message }) => message))];
  const error = reasonOf(status);
  return ApiResponse({
    status,
    description: messages.join('. Or: '),
    headers: {
      'Retry-After': {
        description: 'Seconds to wait before the next try',
        schema: { type: 'integer', minimum: 1, example: waitsS[0] },
      },
    },
    schema: {
      type: 'object',
      required: ['statusCode', 'message', 'error', 'code'],
      properties: {
        statusCode: { type: 'integer', enum: [status] },
        message: { type: 'string', enum: messages },
        error: { type: 'string', enum: [error] },
        code: { type: 'string', enum: codes },
      },
      example: { statusCode: status, message: messages[0], error, code: codes[0] },
    },
  });
}
