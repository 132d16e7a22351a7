import { Controller, Get, Header } from '@nestjs/common';
import { ApiOperation, ApiProduces, ApiResponse, ApiTags } from '@nestjs/swagger';
import { Registry } from 'prom-client';
import { ShopMetrics } from './shop-metrics.js';

@Controller('metrics')
@ApiTags('operation')
@ApiProduces('text/plain')
export class MetricsController {
  constructor(private readonly metrics: ShopMetrics) {}

  @Get()
  @ApiOperation({ summary: 'Metrics of the sale, of locks and of this process' })
  @ApiResponse({ status: 200, description: 'For Prometheus', type: String })
  @Header('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
  show(): Promise<string> {
    return this.metrics.text();
  }
}
