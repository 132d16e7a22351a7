import type { PartName } from '../../arena/parts/part.js';
import { cartPicture } from './cart-picture.js';
import { fencePicture } from './fence-picture.js';
import { offerPicture } from './offer-picture.js';
import { openingPicture } from './opening-picture.js';
import { paymentPicture } from './payment-picture.js';
import { queuePicture } from './queue-picture.js';
import { reportPicture } from './report-picture.js';
import { ticketPicture } from './ticket-picture.js';
import type { Picture } from './scene.js';

export const PICTURES: Readonly<Record<PartName, Picture>> = {
  queue: queuePicture,
  opening: openingPicture,
  payment: paymentPicture,
  offer: offerPicture,
  cart: cartPicture,
  ticket: ticketPicture,
  report: reportPicture,
  fence: fencePicture,
};
