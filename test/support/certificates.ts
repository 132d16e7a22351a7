import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';

/** PEM texts of a key that is as old as the test that made it. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

interface Subject {
  /** The address that a server shows it for; of an authority none. */
  readonly ip?: string;
  readonly notAfter?: Date;
}

const DAY_MS = 24 * 60 * 60 * 1_000;

/** A client trusts this authority only if its settings say so. Node can sign, and has no more than that. */
export class Authority implements Certificate {
  readonly cert: string;
  readonly key: string;
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  constructor(private readonly name: string) {
    this.key = pem('PRIVATE KEY', this.#keys.privateKey.export({ type: 'pkcs8', format: 'der' }));
    this.cert = this.#certify(name, this.#keys.publicKey, [IS_AUTHORITY]);
  }

  issue({ ip = '127.0.0.1', notAfter }: Subject = {}): Certificate {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const address = tlv(0x87, Buffer.from(ip.split('.').map(Number)));
    const names = sequence(SUBJECT_ALT_NAME, tlv(0x04, sequence(address)));
    return {
      cert: this.#certify(`server ${ip}`, publicKey, [names], notAfter),
      key: pem('PRIVATE KEY', privateKey.export({ type: 'pkcs8', format: 'der' })),
    };
  }

  #certify(
    subject: string,
    publicKey: KeyObject,
    extensions: readonly Buffer[],
    notAfter = new Date(Date.now() + DAY_MS),
  ): string {
    const notBefore = new Date(Date.now() - 2 * DAY_MS);
    const body = sequence(
      tlv(0xa0, tlv(0x02, Buffer.from([2]))),
      tlv(0x02, Buffer.from([1, ...Buffer.from(String(process.hrtime.bigint()))])),
      ECDSA_WITH_SHA256,
      commonName(this.name),
      sequence(time(notBefore), time(notAfter)),
      commonName(subject),
      publicKey.export({ type: 'spki', format: 'der' }),
      tlv(0xa3, sequence(...extensions)),
    );
    const signature = Buffer.concat([Buffer.of(0), sign('sha256', body, this.#keys.privateKey)]);
    return pem('CERTIFICATE', sequence(body, ECDSA_WITH_SHA256, tlv(0x03, signature)));
  }
}

/** DER: what it is, how long it is, and itself. */
function tlv(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tlv(0x30, ...parts);
}

const oid = (hex: string) => tlv(0x06, Buffer.from(hex, 'hex'));
const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'));
const SUBJECT_ALT_NAME = oid('551d11');
const YES = tlv(0x01, Buffer.of(0xff));
/** A critical basic constraint. */
const IS_AUTHORITY = sequence(oid('551d13'), YES, tlv(0x04, sequence(YES)));

function commonName(name: string): Buffer {
  return sequence(tlv(0x31, sequence(oid('550403'), tlv(0x0c, Buffer.from(name)))));
}

function time(date: Date): Buffer {
  return tlv(0x18, Buffer.from(date.toISOString().replace(/[-:T]|\.\d+/g, '')));
}

function pem(what: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${what}-----`, ...lines, `-----END ${what}-----`, ''].join('\n');
}
