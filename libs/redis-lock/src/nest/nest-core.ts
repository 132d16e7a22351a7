// By file: the index of @nestjs/core would load 150 modules more, which this library never needs.
export { HttpAdapterHost } from '@nestjs/core/helpers/http-adapter-host.js';
export { ModuleRef } from '@nestjs/core/injector/module-ref.js';
export { ModulesContainer } from '@nestjs/core/injector/modules-container.js';
export { MetadataScanner } from '@nestjs/core/metadata-scanner.js';
