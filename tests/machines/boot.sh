# Become a machine: MACHINE is its folder, NAME its name, HOSTS its /etc/hosts, PACKAGES those of Python.
mount --make-rprivate /
mount -t tmpfs tmpfs "$MACHINE"
cd "$MACHINE"
mkdir changes work root console.d
mount -t overlay overlay -o "lowerdir=/,upperdir=$MACHINE/changes,workdir=$MACHINE/work" root
mkdir -p root/opt/packages
mount --bind -o ro "$PACKAGES" root/opt/packages
cd root
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
  touch "dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
mount -t tmpfs tmpfs dev/shm
ln -s /proc/self/fd dev/fd
ln -s pts/ptmx dev/ptmx
touch dev/console ../console.d/console
mount --bind ../console.d/console dev/console
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t cgroup2 cgroup2 sys/fs/cgroup
# Folders of accounts are those of this machine: a machine begins without them.
for folder in root home srv; do
  mkdir -p "$folder"
  mount -t tmpfs tmpfs "$folder"
done
# A new machine runs nothing that this one was told to run, and leaves the kernel's settings alone.
rm -rf etc/systemd/system etc/netns etc/postgresql var/lib/postgresql var/log/journal
mkdir -p etc/systemd/system
for unit in systemd-sysctl systemd-modules-load systemd-remount-fs systemd-udevd systemd-firstboot \
  systemd-networkd systemd-resolved systemd-timesyncd systemd-machine-id-commit kmod-static-nodes; do
  ln -s /dev/null "etc/systemd/system/$unit.service"
done
mount --bind -o ro proc/sys proc/sys 2> /dev/null || true
tr -d - < /proc/sys/kernel/random/uuid > etc/machine-id
printf '127.0.0.1 localhost\n%s' "$HOSTS" > etc/hosts
hostname "$NAME"
pivot_root . mnt
cd /
umount --lazy /mnt
mount --make-rshared /
exec /usr/bin/env -i container=headway /lib/systemd/systemd --unit=multi-user.target
