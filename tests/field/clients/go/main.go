// x/crypto/ssh with pkg/sftp: see ../test_clients.py for what a client does here.
package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

func connect() (*ssh.Client, error) {
	secret, err := os.ReadFile(os.Getenv("CLIENT_KEY"))
	if err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(secret)
	if err != nil {
		return nil, err
	}
	check := func(_ string, _ net.Addr, key ssh.PublicKey) error {
		if base64.StdEncoding.EncodeToString(key.Marshal()) != os.Getenv("CLIENT_HOST_KEY") {
			return errors.New("another host key")
		}
		return nil
	}
	return ssh.Dial("tcp", "127.0.0.1:"+os.Getenv("CLIENT_PORT"), &ssh.ClientConfig{
		User: os.Getenv("CLIENT_USER"), Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: check})
}

func transfer(client *ssh.Client) error {
	files, err := sftp.NewClient(client)
	if err != nil {
		return err
	}
	defer files.Close()
	data, err := os.ReadFile(os.Getenv("CLIENT_UP"))
	if err != nil {
		return err
	}
	up, err := files.Create(os.Getenv("CLIENT_FAR"))
	if err != nil {
		return err
	}
	if _, err = up.Write(data); err != nil {
		return err
	}
	if err = up.Close(); err != nil {
		return err
	}
	down, err := files.Open(os.Getenv("CLIENT_FAR"))
	if err != nil {
		return err
	}
	if data, err = io.ReadAll(down); err != nil {
		return err
	}
	return os.WriteFile(os.Getenv("CLIENT_DOWN"), data, 0o600)
}

func talk() error {
	client, err := connect()
	if err != nil {
		return err
	}
	defer client.Close()
	if err = transfer(client); err != nil {
		return err
	}
	session, err := client.NewSession()
	if err != nil {
		return err
	}
	session.Stdout = os.Stdout
	return session.Run(os.Getenv("CLIENT_COMMAND"))
}

func main() {
	err := talk()
	var ended *ssh.ExitError
	if errors.As(err, &ended) {
		os.Exit(ended.ExitStatus())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(255)
	}
}
