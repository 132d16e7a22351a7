import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import './routes.js';

const ABOUT = new DocumentBuilder()
  .setTitle('seckill-demo')
  .setDescription(
    'A flash sale. `x-served-by` names the process that answered. Errors of the lock library have a `code`.',
  )
  .build();

/** Swagger at /api, and its document at /api-json. The first request creates the document. */
export function serveInterface(app: NestExpressApplication): void {
  SwaggerModule.setup('api', app, () => SwaggerModule.createDocument(app, ABOUT));
}
