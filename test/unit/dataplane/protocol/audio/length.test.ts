import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import {
  adtsFile,
  flacFile,
  losslessMp4File,
  mp3File,
  mp4File,
  oggFile,
  oggPage,
  vorbisFile,
  wavFile,
  webmFile,
} from '../../../../support/audio-files.ts';
import { RequestFault } from '../../../../../dataplane/protocol/call-facts.ts';
import { audioLength } from '../../../../../dataplane/protocol/audio/length.ts';

function seconds(file: Buffer): number {
  const { most, likely } = audioLength(file);
  assert.equal(likely, most);
  return most;
}

describe('the length of a file', () => {
  test.each([
    ['a WAVE file, by its samples', wavFile(3), 3],
    ['a fraction of a second counts as one', wavFile(3.001), 4],
    ['an MP3, by its frames of 1152 samples: 383 are 10.005 s', mp3File(383), 11],
    ['an MP3 of several bit rates', Buffer.concat([mp3File(190, 5), mp3File(190, 14)]), 10],
    ['FLAC, by its frames of 4096 samples: 54 are 5.02 s', flacFile(54, 54 * 4096), 6],
    ['Opus in Ogg, by its packets of 20 ms', oggFile(500, 480_000n), 10],
    ['AAC in MP4, by its frames of 1024 samples: 155 are 9.92 s', mp4File(155), 10],
    ['ALAC in MP4, by its frames of 4096 samples: 39 are 9.98 s', losslessMp4File(39, 'alac'), 10],
    ['FLAC in MP4, by its frames of 4096 samples: 39 are 9.98 s', losslessMp4File(39, 'fLaC'), 10],
    ['AAC in ADTS, by its blocks of 1024 samples: 155 are 9.92 s', adtsFile(155), 10],
    ['Vorbis in Ogg, by its packets of at most 1024 samples: 155 are 9.92 s', vorbisFile(155), 10],
    ['Opus in WebM, by its blocks of 20 ms', webmFile(500), 10],
  ])('is known of %s', (_, file, expected) => assert.equal(seconds(file), expected));

  test('is not what the file says of itself', () => {
    assert.equal(seconds(flacFile(108, 1)), 11);
    assert.equal(seconds(oggFile(500, 1n)), 10);
    const wav = wavFile(5);
    wav.writeUInt32LE(0, 40);
    assert.equal(seconds(wav), 5);
    wav.writeUInt32LE(0xffffffff, 40);
    assert.equal(seconds(wav), 5);
    // a byte rate of 1 GB/s changes nothing of what is played
    wav.writeUInt32LE(10 ** 9, 28);
    assert.equal(seconds(wav), 5);
    const twice = Buffer.concat([wavFile(5), wavFile(5).subarray(36)]);
    assert.equal(seconds(twice), 10);
  });

  test('of an MP3 counts a tag as nothing, and anything between frames by its size in the bound', () => {
    const tag = Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\x10\0', 'latin1'), Buffer.alloc(2048)]);
    assert.equal(seconds(Buffer.concat([tag, mp3File(383)])), 11);
    const { most, likely } = audioLength(Buffer.concat([mp3File(383), Buffer.alloc(50_000)]));
    // 50,000 bytes beside 10.005 s of frames
    assert.deepEqual([most, likely], [111, 23]);
    const late = audioLength(Buffer.concat([mp3File(2), Buffer.alloc(2_000_000), mp3File(383)]));
    assert.ok(late.likely > 500, String(late.likely));
  });

  test('is not hidden by the order or the marks of its parts', () => {
    // each page ends within a packet that the next one does not go on with
    const page = oggPage([Buffer.from([0x78, 1]), Buffer.alloc(255)], 0n);
    page[26] = 2;
    const cut = Buffer.concat([page.subarray(0, 29), page.subarray(30)]);
    const pages = Buffer.concat([oggFile(0, 0n), ...Array.from({ length: 500 }, () => cut)]);
    assert.ok(seconds(pages) >= 10, String(seconds(pages)));
    const webm = webmFile(500);
    // the codec before the number of its track
    const entry = webm.indexOf(Buffer.from('d74001018640', 'hex'));
    const swapped = Buffer.concat([
      webm.subarray(0, entry),
      webm.subarray(entry + 4, entry + 4 + 9),
      webm.subarray(entry, entry + 4),
      webm.subarray(entry + 13),
    ]);
    assert.equal(seconds(swapped), 10);
    // a page that decoders pass by because its checksum is wrong, and pages within it
    const nest = Buffer.alloc(255 * 255);
    oggFile(500, 0n).copy(nest, 1);
    const nested = Buffer.concat([oggFile(0, 0n), oggPage([nest], 0n)]);
    assert.ok(seconds(nested) >= 10, String(seconds(nested)));
    const decoy = mp4File(155);
    decoy.write('esds', decoy.indexOf('esds') + 26);
    assert.ok(audioLength(decoy).most > audioLength(decoy).likely, 'the table of a decoy is not believed');
  });

  test('of a WAVE file is that of the samples that decoders take, whatever its header says', () => {
    const law = wavFile(5);
    law.writeUInt16LE(6, 20);
    law.writeUInt16LE(0xfff8, 34);
    law.writeUInt16LE(0xfff8, 32);
    assert.equal(seconds(law), 10);
    const large = wavFile(5);
    large.write('RF64');
    large.writeUInt32LE(2, 40);
    assert.equal(seconds(large), 5);
    const [head, data] = [wavFile(0), wavFile(5).subarray(44)];
    const extended = Buffer.concat([head.subarray(0, 36), Buffer.alloc(24), head.subarray(36), data]);
    extended.writeUInt32LE(data.length, 64);
    extended.writeUInt32LE(40, 16);
    extended.writeUInt16LE(0xfffe, 20);
    extended.writeUInt32LE(0xfff8fff8, 32);
    // 16 of them are in use
    extended.writeUInt16LE(16, 38);
    extended.writeUInt16LE(1, 44);
    assert.equal(seconds(extended), 5);
    extended.writeUInt16LE(8, 38);
    assert.equal(seconds(extended), 10);
  });

  test('passes by tags and zeros before the sound, of any format, and by nothing that is no tag', () => {
    const tag = Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\0\x0a', 'latin1'), Buffer.alloc(10)]);
    assert.equal(seconds(Buffer.concat([tag, tag, flacFile(54, 1)])), 6);
    assert.equal(seconds(Buffer.concat([tag, Buffer.alloc(7), tag, mp3File(383)])), 11);
    assert.equal(seconds(Buffer.concat([tag, mp4File(155)])), 10);
    assert.equal(seconds(Buffer.concat([Buffer.alloc(19), mp3File(383)])), 11);
    const whole = Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\x3d\x00', 'latin1'), mp3File(19).subarray(0, 7808)]);
    assert.equal(audioLength(whole).most, 16);
    for (const [at, byte] of [
      [6, 0x80],
      [3, 0xff],
      [4, 0xff],
    ] as const) {
      const wrong = Buffer.from(tag);
      wrong[at] = byte;
      assert.ok(audioLength(Buffer.concat([wrong, mp3File(383)])).most > 11);
    }
  });

  const chunk = Buffer.concat([Buffer.from('junk'), Buffer.alloc(4)]);
  const [cluster, seek] = [Buffer.from('1f43b675', 'hex'), Buffer.from('114d9b74874dbb8453ab841f43b675', 'hex')];
  const hidden = mp4File(155);
  hidden.write('dinf', hidden.indexOf('minf'));
  const named = mp4File(155);
  named.write('hoov', named.indexOf('moov'));
  const small = Buffer.alloc(320_000);
  for (let at = 8; at + 72 <= small.length; at += 72) small.writeUInt32BE(0xffe318c4, at);
  for (let at = 0; at + 1440 <= small.length; at += 1440) small.writeUInt32BE(0xfffbe8c4, at);

  test.each([
    ['chunks', Buffer.concat([wavFile(1), ...Array.from({ length: 100_001 }, () => chunk)])],
    ['marks of frames', Buffer.concat([flacFile(54, 1), Buffer.alloc(2_000_002, 0xff)])],
    ['pages', Buffer.concat(Array.from({ length: 40_000 }, () => oggFile(50, 0n)))],
    ['elements', Buffer.concat([webmFile(500), Buffer.alloc(4_000_002, Buffer.from('ec80', 'hex'))])],
    ['boxes', Buffer.concat([mp4File(155), Buffer.alloc(8_000_008, Buffer.from('\0\0\0\x08free'))])],
    ['tables where no decoder should look', hidden],
    ['tables of another name', Buffer.concat([named, mp4File(1).subarray(12)])],
    ['clusters where none should be', Buffer.concat([webmFile(500), Buffer.from('ec84', 'hex'), cluster])],
    ['frames within frames', small],
  ])('cannot be told of a file with too many %s, or any that decoders may find, which is refused', (_, file) => {
    assert.throws(() => audioLength(file), /The audio file has .* Encode it anew\./);
  });

  test('of WebM does not count what lists where its clusters are', () => {
    const webm = webmFile(500);
    const at = webm.indexOf(Buffer.from('1654ae6b', 'hex'));
    assert.equal(seconds(Buffer.concat([webm.subarray(0, at), seek, webm.subarray(at)])), 10);
  });

  test.each([
    ['noise', Buffer.alloc(40_000, 0x55)],
    ['nothing that is known', Buffer.concat([Buffer.from('caff'), Buffer.alloc(39_996)])],
    ['other sound in Ogg', Buffer.concat([oggPage([Buffer.from('Speex  ')], 0n), Buffer.alloc(39_965)])],
    ['other sound in MP4', Buffer.concat([mp4File(10, 'ac-3'), Buffer.alloc(40_000)]).subarray(0, 40_000)],
    ['other sound in WebM', Buffer.concat([webmFile(10, 'A_VORBIS'), Buffer.alloc(40_000)]).subarray(0, 40_000)],
    ['compressed samples in WAVE', compressedWav()],
    ['one frame, and then something else', Buffer.concat([mp3File(1), Buffer.alloc(39_583)])],
  ])('of %s is bounded by its size, at 4 kbit/s, and likely at 32', (_, file) => {
    assert.deepEqual(audioLength(file), { most: 80, likely: 10 });
  });

  test('is at least a second, and of any bytes is found or refused', () => {
    assert.deepEqual(audioLength(Buffer.alloc(0)), { most: 1, likely: 1 });
    const files = [wavFile(0.1), mp3File(3), flacFile(2, 1), oggFile(3, 1n), mp4File(3), webmFile(3), vorbisFile(3)];
    files.push(adtsFile(3), losslessMp4File(3, 'alac'), losslessMp4File(3, 'fLaC'));
    fc.assert(
      fc.property(
        fc.constantFrom(...files),
        fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 8 }),
        fc.nat(400),
        (file, changes, length) => {
          const broken = Buffer.from(file.subarray(0, length));
          for (const [at, byte] of changes) if (at < broken.length) broken[at] = byte;
          const { most, likely } = readBroken(broken);
          assert.ok(most >= likely && likely >= 1 && Number.isSafeInteger(most), `${most} ${likely}`);
        },
      ),
      { numRuns: 3000 },
    );
  });
});

/** A second, where the file is refused. */
function readBroken(file: Buffer): ReturnType<typeof audioLength> {
  try {
    return audioLength(file);
  } catch (error) {
    assert.ok(error instanceof RequestFault);
    return { most: 1, likely: 1 };
  }
}

/** ADPCM. */
function compressedWav(): Buffer {
  const wav = Buffer.concat([wavFile(1), Buffer.alloc(7_956)]);
  wav.writeUInt16LE(0x11, 20);
  return wav;
}
