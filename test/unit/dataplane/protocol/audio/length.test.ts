import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { flacFile, mp3File, mp4File, oggFile, oggPage, wavFile, webmFile } from '../../../../support/audio-files.ts';
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
    const decoy = mp4File(155);
    decoy.write('esds', decoy.indexOf('esds') + 26);
    assert.ok(audioLength(decoy).most > audioLength(decoy).likely, 'the table of a decoy is not believed');
  });

  test.each([
    ['noise', Buffer.alloc(40_000, 0x55)],
    ['nothing that is known', Buffer.concat([Buffer.from('caff'), Buffer.alloc(39_996)])],
    ['other sound in Ogg', Buffer.concat([oggPage([Buffer.from('\x01vorbis')], 0n), Buffer.alloc(39_964)])],
    ['other sound in MP4', Buffer.concat([mp4File(10, 'alac'), Buffer.alloc(40_000)]).subarray(0, 40_000)],
    ['other sound in WebM', Buffer.concat([webmFile(10, 'A_VORBIS'), Buffer.alloc(40_000)]).subarray(0, 40_000)],
    ['compressed samples in WAVE', compressedWav()],
    ['one frame, and then something else', Buffer.concat([mp3File(1), Buffer.alloc(39_583)])],
  ])('of %s is bounded by its size, at 4 kbit/s, and likely at 32', (_, file) => {
    assert.deepEqual(audioLength(file), { most: 80, likely: 10 });
  });

  test('is at least a second, and is found of any bytes without an error', () => {
    assert.deepEqual(audioLength(Buffer.alloc(0)), { most: 1, likely: 1 });
    const files = [wavFile(0.1), mp3File(3), flacFile(2, 1), oggFile(3, 1n), mp4File(3), webmFile(3)];
    fc.assert(
      fc.property(
        fc.constantFrom(...files),
        fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 8 }),
        fc.nat(400),
        (file, changes, length) => {
          const broken = Buffer.from(file.subarray(0, length));
          for (const [at, byte] of changes) if (at < broken.length) broken[at] = byte;
          const { most, likely } = audioLength(broken);
          assert.ok(most >= likely && likely >= 1 && Number.isSafeInteger(most), `${most} ${likely}`);
        },
      ),
      { numRuns: 3000 },
    );
  });
});

/** ADPCM. */
function compressedWav(): Buffer {
  const wav = Buffer.concat([wavFile(1), Buffer.alloc(7_956)]);
  wav.writeUInt16LE(0x11, 20);
  return wav;
}
