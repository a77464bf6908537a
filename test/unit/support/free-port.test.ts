import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, it } from 'vitest';
import { freePort } from '../../support/free-port.ts';

/** Of Linux, where nobody has set net.ipv4.ip_local_port_range. */
const KERNEL_FIRST = 32_768;

describe('free-port', () => {
  it('gives ports below those of the kernel, each of them once, that can be listened on', async () => {
    const ports = await Promise.all(Array.from({ length: 200 }, freePort));
    assert.equal(new Set(ports).size, ports.length);
    for (const port of ports) assert.ok(port > 1_024 && port < KERNEL_FIRST, `${port}`);
    const server = createServer().listen(ports[0], '127.0.0.1');
    await once(server, 'listening');
    server.close();
  });

  it('gives nothing that another process was given, as long as that lives', async () => {
    // of 17,000: two processes that do not know of each other would share one in all but a few runs in ten thousand
    const count = 400;
    const script = `import { freePort } from './test/support/free-port.ts';
      console.log(JSON.stringify(await Promise.all(Array.from({ length: ${count} }, freePort))));
      process.stdin.resume();`;
    const other =
      spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      const [chunk] = await once(other.stdout, 'data') as [Buffer];
      const theirs = new Set(JSON.parse(String(chunk)) as number[]);
      assert.equal(theirs.size, count);
      const ours = await Promise.all(Array.from({ length: count }, freePort));
      assert.deepEqual(ours.filter((port) => theirs.has(port)), []);
    } finally {
      const exited = once(other, 'exit');
      other.stdin.end();
      await exited;
    }
  });
});
