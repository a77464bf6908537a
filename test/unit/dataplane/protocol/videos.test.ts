/** Requests for videos, and providers' reports on the jobs. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { isJobId, readVideosFacts, videoJobs } from '../../../../dataplane/protocol/openai/videos.ts';

const PLAN = { upstreamModel: 'up', maxOutputTokens: undefined, outputLimitField: 'max_tokens' } as const;

describe('a request for a video', () => {
  it('has a model and a number', () => {
    assert.deepEqual(readVideosFacts({ model: 'sora', prompt: 'a river' }), {
      model: 'sora',
      generations: 1,
      imageParam: undefined,
      unbounded: [],
      seconds: undefined,
      size: undefined,
      lengthParam: undefined,
    });
    assert.equal(readVideosFacts({ model: 'sora', prompt: 'a river', n: 3 }).generations, 3);
    assert.equal(readVideosFacts({ model: 'sora', prompt: 'a river', n: '4' }).generations, 4);
  });
  for (const [what, fields, param] of [
    ['no prompt', { model: 'sora' }, 'prompt'],
    ['a file as prompt', { model: 'sora', prompt: { filename: 'x' } }, 'prompt'],
    ['no model', { prompt: 'x' }, 'model'],
    ['no video', { model: 'sora', prompt: 'x', n: 0 }, 'n'],
    ['too many', { model: 'sora', prompt: 'x', n: '11' }, 'n'],
    ['half a video', { model: 'sora', prompt: 'x', n: 1.5 }, 'n'],
    ['a number in words', { model: 'sora', prompt: 'x', n: 'two' }, 'n'],
  ] as const)
    it(`with ${what} is refused`, () => assert.throws(() => readVideosFacts(fields), { name: 'RequestFault', param }));

  it('names its length anywhere, in whatever letters', () => {
    for (const [fields, path] of [
      [{ input: { duration: 12 } }, 'input.duration'],
      [{ 'parameters[duration]': '12' }, 'parameters[duration]'],
      [{ 'parameter\u017f.\u017fecond\u017f': '12' }, 'parameter\u017f.\u017fecond\u017f'],
      [{ options: [{ ｆps: 30 }] }, 'options.0.\uff46ps'],
    ] as const)
      assert.equal(readVideosFacts({ model: 'sora', prompt: 'x', seconds: '4', ...fields }).lengthParam, path);
  });

  it('contains the name of a file that its provider stores', () => {
    assert.deepEqual(readVideosFacts({ model: 'm', prompt: 'p', input_reference: { file_id: 'file_1' } }).unbounded, [
      {
        feature: 'FileReferences',
        param: 'input_reference.file_id',
      },
    ]);
    assert.deepEqual(readVideosFacts({ model: 'm', prompt: 'p', 'input_reference[file_id]': 'file_1' }).unbounded, [
      {
        feature: 'FileReferences',
        param: 'input_reference[file_id]',
      },
    ]);
    for (const [fields, param] of [
      [{ 'parameters[file_id]': 'file_1' }, 'parameters[file_id]'],
      [{ file_id: 'file_1' }, 'file_id'],
      [{ input: [{ fileId: 'file_1' }] }, 'input.0.fileId'],
    ] as const)
      assert.deepEqual(readVideosFacts({ model: 'm', prompt: 'p', ...fields }).unbounded, [
        { feature: 'FileReferences', param },
      ]);
    assert.deepEqual(readVideosFacts({ model: 'm', prompt: 'p', input_reference: { file_id: null } }).unbounded, []);
  });
  it('passes through, with its model renamed', () => {
    const json = videoJobs
      .create(undefined)
      .request(Buffer.from('{"model": "sora", "seconds": "8"}'), { model: 'sora', seconds: '8' }, PLAN);
    assert.deepEqual(
      [json.path, Buffer.from(json.body).toString(), json.contentType],
      ['/videos', '{"model": "up", "seconds": "8"}', undefined],
    );
    const type = 'multipart/form-data; boundary=e';
    const form = '--e\r\nContent-Disposition: form-data; name="model"\r\n\r\nsora\r\n--e--\r\n';
    const sent = videoJobs.create(type).request(Buffer.from(form), { model: 'sora' }, PLAN);
    assert.deepEqual(
      [
        sent.path,
        Buffer.from(sent.body)
          .toString()
          .replaceAll(/modelgateway-[0-9a-f]+/g, 'e'),
        sent.contentType?.slice(0, 43),
      ],
      ['/videos', form.replace('sora', 'up'), 'multipart/form-data; boundary=modelgateway-'],
    );
  });
});

describe("a provider's report on a job", () => {
  const said = (video: object): ReturnType<typeof videoJobs.read> => videoJobs.read(Buffer.from(JSON.stringify(video)));
  for (const [status, state] of [
    ['queued', 'Running'],
    ['in_progress', 'Running'],
    ['completed', 'Completed'],
    ['failed', 'Failed'],
    ['succeeded', 'Completed'],
    ['SUCCESS', 'Completed'],
    ['cancelled', 'Failed'],
    ['processing', 'Running'],
    ['brand_new_word', 'Running'],
  ] as const)
    it(`"${status}" means ${state}`, () => assert.deepEqual(said({ id: 'video_1', status }), { id: 'video_1', state }));
  it('without a status means running', () => assert.equal(said({ id: 'video_1' }).state, 'Running'));
  for (const [what, id] of [
    ['none', undefined],
    ['a number', 7],
    ['an empty one', ''],
    ['a line break', 'a\nb'],
    ['a space', 'a b'],
    ['a long one', 'x'.repeat(257)],
    ['a parent', '..'],
  ] as const)
    it(`needs a valid id: not ${what}`, () => assert.throws(() => said({ id, status: 'queued' }), SyntaxError));
  it("has the same rules for ids in clients' requests", () => {
    assert.ok(isJobId('video_68a1') && isJobId('a/b?c') && !isJobId('a b') && !isJobId('.') && !isJobId(''));
  });
  it('that has failed at once creates no job to bill', () => {
    const { failed, job } = videoJobs
      .create(undefined)
      .response(Buffer.from('{"id":"v","status":"failed","error":{"code":"x","message":"no"}}'));
    assert.deepEqual([failed, job], [true, { id: 'v', state: 'Failed' }]);
  });
});
