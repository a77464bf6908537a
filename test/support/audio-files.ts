/** Audio files as small as their formats let them be, made of silence or of noise. */
import { Buffer } from 'node:buffer';

/** 16-bit PCM, mono, at 16 kHz. */
export function wavFile(seconds: number, rate = 16_000): Buffer {
  const data = Buffer.alloc(Math.round(seconds * rate) * 2);
  return Buffer.concat([
    Buffer.from('RIFF'),
    u32le(36 + data.length),
    Buffer.from('WAVEfmt '),
    u32le(16),
    u16le(1, 1),
    u32le(rate, rate * 2),
    u16le(2, 16),
    Buffer.from('data'),
    u32le(data.length),
    data,
  ]);
}

/** Frames of MPEG 1, layer III, at 44.1 kHz: 1152 samples each. `rateIndex`: 5 is 64 kbit/s, 9 is 128. */
export function mp3File(frames: number, rateIndex = 9): Buffer {
  const kbits = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320][rateIndex] ?? 0;
  const frame = Buffer.alloc(Math.floor((144_000 * kbits) / 44_100));
  frame.writeUInt32BE((0xfffb0000 + rateIndex * 4096) >>> 0);
  return Buffer.concat(Array.from({ length: frames }, () => frame));
}

/** Frames of 4096 samples at 44.1 kHz. `stated`: the samples that its start claims. */
export function flacFile(frames: number, stated: number): Buffer {
  const info = Buffer.alloc(34);
  info.writeUIntBE((44_100 << 4) | 2, 10, 3);
  info.writeUInt32BE(stated, 14);
  const frame = (index: number): Buffer => {
    const head = Buffer.from([0xff, 0xf8, 0xc9, 0x08, index]);
    return Buffer.concat([head, Buffer.from([crc8(head)]), Buffer.alloc(20)]);
  };
  return Buffer.concat([
    Buffer.from('fLaC'),
    Buffer.from([0x80, 0, 0, 34]),
    info,
    ...Array.from({ length: frames }, (_, index) => frame(index % 128)),
  ]);
}

/** Packets of 20 ms. `granule`: the position that the last page states. */
export function oggFile(packets: number, granule: bigint): Buffer {
  const packet = Buffer.from([0x78, 1, 2, 3]);
  const pages = Array.from({ length: Math.ceil(packets / 50) }, (_, index) =>
    oggPage(
      Array.from({ length: Math.min(50, packets - index * 50) }, () => packet),
      granule,
    ),
  );
  return Buffer.concat([
    oggPage([Buffer.from('OpusHead\x01\x01\0\0\x80\xbb\0\0\0\0\0', 'latin1')], 0n),
    oggPage([Buffer.from('OpusTags\0\0\0\0\0\0\0\0')], 0n),
    ...pages,
  ]);
}

export function oggPage(packets: readonly Buffer[], granule: bigint): Buffer {
  const head = Buffer.alloc(27);
  head.write('OggS');
  head.writeBigInt64LE(granule, 6);
  head.writeUInt32LE(7, 14);
  const sizes = packets.flatMap(({ length }) => [...Array<number>(Math.floor(length / 255)).fill(255), length % 255]);
  head[26] = sizes.length;
  return Buffer.concat([head, Buffer.from(sizes), ...packets]);
}

/** Packets of Vorbis at 16 kHz, of at most 1024 samples each. */
export function vorbisFile(packets: number): Buffer {
  const head = Buffer.alloc(30);
  head.write('\x01vorbis', 'latin1');
  head.writeUInt32LE(16_000, 12);
  head[28] = 0xb8;
  const pages = Array.from({ length: packets }, () => oggPage([Buffer.from([0, 1])], 0n));
  return Buffer.concat([
    oggPage([head], 0n),
    oggPage([Buffer.from('\x03vorbis'), Buffer.from('\x05vorbis')], 0n),
    ...pages,
  ]);
}

/** AAC in ADTS at 16 kHz: frames of 1024 samples. */
export function adtsFile(frames: number): Buffer {
  const frame = Buffer.from([0xff, 0xf1, 0x60, 0x40, 0x01, 0x1f, 0xfc, 0]);
  return Buffer.concat(Array.from({ length: frames }, () => frame));
}

/** Frames of 4096 samples at 16 kHz. */
export function losslessMp4File(frames: number, codec: 'alac' | 'fLaC'): Buffer {
  const alac = box('alac', u32be(0, 4096), Buffer.alloc(16), u32be(16_000));
  const info = Buffer.alloc(34);
  info.writeUInt16BE(4096, 2);
  info.writeUIntBE(16_000 << 4, 10, 3);
  return mp4File(frames, codec, codec === 'alac' ? alac : box('dfLa', u32be(0, 0x80000022), info));
}

/** AAC at 16 kHz, 1024 samples a frame. `entry`: the kind of sound that it states, and `settings` its decoder's. */
export function mp4File(frames: number, entry = 'mp4a', settings = esdsBox()): Buffer {
  const sound = box(entry, Buffer.alloc(28), settings);
  const stsd = box('stsd', Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]), sound);
  const stsz = box('stsz', Buffer.alloc(4), u32be(7, frames));
  const mvhd = box('mvhd', Buffer.alloc(12), u32be(1000, 1));
  const track = box('trak', box('mdia', box('minf', box('stbl', stsd, stsz))));
  return Buffer.concat([
    box('ftyp', Buffer.from('M4A ')),
    box('moov', mvhd, track),
    box('mdat', Buffer.alloc(frames * 7)),
  ]);
}

function esdsBox(): Buffer {
  const specific = Buffer.from([0x14, 0x08]);
  const decoder = descriptor(4, Buffer.concat([Buffer.from([0x40, 0x15]), Buffer.alloc(11), descriptor(5, specific)]));
  return box('esds', Buffer.alloc(4), descriptor(3, Buffer.concat([Buffer.from([0, 1, 0]), decoder])));
}

/** Blocks of 20 ms of Opus, in a cluster of unknown size, as browsers record them. */
export function webmFile(blocks: number, codec = 'A_OPUS'): Buffer {
  const track = element('ae', element('d7', Buffer.from([1])), element('86', Buffer.from(codec)));
  const block = element('a3', Buffer.from([0x81, 0, 0, 0x80, 0x78, 1, 2, 3]));
  return Buffer.concat([
    element('1a45dfa3', element('4282', Buffer.from('webm'))),
    Buffer.from('1853806701ffffffffffffff', 'hex'),
    element('1654ae6b', track),
    Buffer.from('1f43b67501ffffffffffffff', 'hex'),
    ...Array.from({ length: blocks }, () => block),
  ]);
}

function element(id: string, ...content: readonly Buffer[]): Buffer {
  const bytes = Buffer.concat(content);
  return Buffer.concat([Buffer.from(id, 'hex'), Buffer.from([0x40 | (bytes.length >> 8), bytes.length & 255]), bytes]);
}

function box(name: string, ...content: readonly Buffer[]): Buffer {
  const bytes = Buffer.concat(content);
  return Buffer.concat([u32be(8 + bytes.length), Buffer.from(name), bytes]);
}

function descriptor(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag, 0x80, 0x80, 0x80, content.length]), content]);
}

function crc8(bytes: Buffer): number {
  return bytes.reduce((crc, byte) => {
    let next = crc ^ byte;
    for (let bit = 0; bit < 8; bit++) next = ((next << 1) ^ (next & 0x80 ? 7 : 0)) & 255;
    return next;
  }, 0);
}

function u16le(...values: readonly number[]): Buffer {
  return Buffer.concat(values.map((value) => Buffer.from([value & 255, value >> 8])));
}

function u32le(...values: readonly number[]): Buffer {
  return Buffer.concat(values.map((value) => u32be(value).swap32()));
}

function u32be(...values: readonly number[]): Buffer {
  return Buffer.concat(
    values.map((value) => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(value);
      return bytes;
    }),
  );
}
