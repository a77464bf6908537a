/** Limits of connections, in total and by key. */
import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { describe, it } from 'vitest';
import { createConnections } from '../../../../dataplane/server/connections.ts';

describe('connections', () => {
  it('beyond the limit are closed, until others end', () => {
    const connections = createConnections(2);
    const sockets = Array.from({ length: 3 }, () => new Socket());
    for (const socket of sockets) connections.onConnection(socket);
    assert.deepEqual(
      sockets.map(({ destroyed }) => destroyed),
      [false, false, true],
    );
    sockets[0]?.emit('close');
    assert.equal(connections.count, 1);
    const later = new Socket();
    connections.onConnection(later);
    assert.equal(later.destroyed, false);
  });

  it('of one key are at most half of them, counted for the key of the latest request', () => {
    const connections = createConnections(4);
    const [first, second, third] = [new Socket(), new Socket(), new Socket()];
    for (const socket of [first, second, third]) connections.onConnection(socket);
    assert.deepEqual(
      [first, second, third].map((socket) => connections.claim(socket, 'a')),
      [true, true, false],
    );
    assert.equal(connections.claim(first, 'a'), true);
    assert.equal(connections.claim(third, 'b'), true);
    // the first connection changes to another key, and makes room
    assert.equal(connections.claim(first, 'b'), true);
    assert.equal(connections.claim(third, 'a'), true);
    second.emit('close');
    third.emit('close');
    const fourth = new Socket();
    connections.onConnection(fourth);
    assert.equal(connections.claim(fourth, 'a'), true);
  });
});
