// An instance loads this first: it ends with the process that has started it, however that ends.
process.on('disconnect', () => process.exit(1));
process.channel?.unref();
