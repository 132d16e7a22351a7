import { Body, Controller, Get, NotFoundException, Param, Put, Query } from '@nestjs/common';
import { ProductParams } from '../seckill/seckill.schemas.js';
import { OfferBody, OfferQuery } from './offer.schemas.js';
import { OfferService } from './offer.service.js';
import type { Offer } from './offer.service.js';

@Controller('api/products/:id/offer')
export class OfferController {
  constructor(private readonly offers: OfferService) {}

  @Get()
  async read(
    @Param({ schema: ProductParams }) { id }: ProductParams,
    @Query({ schema: OfferQuery }) { strategy }: OfferQuery,
  ): Promise<Offer> {
    const offer =
      strategy === 'read-write-lock'
        ? await this.offers.read(id)
        : await this.offers.readUnlocked(id);
    if (offer === null) throw new NotFoundException('no such offer; PUT its price and stock first');
    return offer;
  }

  @Put()
  async change(
    @Param({ schema: ProductParams }) { id }: ProductParams,
    @Body({ schema: OfferBody }) offer: OfferBody,
  ): Promise<Offer> {
    await this.offers.change(id, offer);
    return offer;
  }
}
