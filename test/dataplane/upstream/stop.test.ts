import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Stop } from '../../../dataplane/upstream/stop.ts';

function listener() {
  return { told: 0, handleEvent() { this.told++; } };
}

test('the listener is told once, and not when it has left', () => {
  const stop = new Stop();
  const [gone, there] = [listener(), listener()];
  stop.signal.addEventListener('abort', gone, { once: true });
  stop.signal.removeEventListener('abort', gone);
  stop.signal.addEventListener('abort', there, { once: true });
  assert.equal(stop.aborted, false);
  stop.abort();
  stop.abort();
  assert.deepEqual([gone.told, there.told, stop.signal.aborted], [0, 1, true]);
});

test('who comes after it has been stopped is not told, as with an AbortSignal', () => {
  const stop = new Stop();
  stop.abort();
  const late = listener();
  stop.signal.addEventListener('abort', late, { once: true });
  stop.abort();
  assert.equal(late.told, 0);
});

test('two exchanges at a time are a defect', () => {
  const stop = new Stop();
  stop.addEventListener('abort', listener());
  assert.throws(() => stop.addEventListener('abort', listener()), /one exchange/);
});
